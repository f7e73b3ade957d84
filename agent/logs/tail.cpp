#include "agent/logs/tail.hpp"

#include <algorithm>

namespace dlaunch::agent {

namespace {

/// The text that a terminal shows of a line that was redrawn several times.
std::string_view last_state(std::string_view line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t redrawn = line.rfind('\r');
    return redrawn == std::string_view::npos ? line : line.substr(redrawn + 1);
}

std::string shortened(std::string_view line) {
    if (line.size() <= Tail::kLineBytes) return std::string(line);
    return std::string(line.substr(0, Tail::kLineBytes)) + "...";
}

}  // namespace

void Tail::add(std::string_view bytes) {
    if (bytes.size() > kKeptBytes)
        if (const std::size_t newline = bytes.rfind('\n', bytes.size() - kKeptBytes - 1); newline != bytes.npos) {
            bytes_.clear();
            head_.clear();
            bytes.remove_prefix(newline + 1);
        }
    while (!bytes.empty()) {
        const std::string_view piece = bytes.substr(0, kKeptBytes);
        bytes_ += piece;
        bytes.remove_prefix(piece.size());
        if (bytes_.size() > 2 * kKeptBytes) trim();
    }
}

void Tail::trim() {
    const std::size_t cut = bytes_.size() - kKeptBytes;
    const std::size_t newline = bytes_.rfind('\n', cut - 1);
    const bool same_line = newline == std::string::npos;
    if (!same_line) head_.clear();
    const std::size_t start = same_line ? 0 : newline + 1;
    if (head_.size() < kLineBytes) head_.append(bytes_, start, std::min(cut - start, kLineBytes - head_.size()));
    bytes_.erase(0, cut);
}

std::vector<std::string> Tail::lines(int most) const {
    std::vector<std::string> found;
    std::string_view rest = bytes_;
    if (rest.ends_with('\n'))
        rest.remove_suffix(1);
    else if (rest.empty())
        return found;
    while (most-- > 0) {
        const std::size_t newline = rest.rfind('\n');
        if (newline != std::string_view::npos) {
            found.push_back(shortened(last_state(rest.substr(newline + 1))));
            rest = rest.substr(0, newline);
            continue;
        }
        found.push_back(shortened(last_state(head_ + std::string(rest))));
        break;
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace dlaunch::agent
