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

std::string shortened(std::string_view line, std::size_t longest) {
    if (line.size() <= longest) return std::string(line);
    return std::string(line.substr(0, longest)) + "...";
}

}  // namespace

void Tail::add(std::string_view bytes, base::Time now) {
    total_ += bytes.size();
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
    mark(now);
}

void Tail::mark(base::Time now) {
    constexpr auto kSameTime = std::chrono::microseconds(10);  // bounds the number of marks
    const std::uint64_t begin = total_ - bytes_.size();
    if (!marks_.empty() && marks_.front().end <= begin)
        std::erase_if(marks_, [begin](const Mark& each) { return each.end <= begin; });
    if (marks_.empty() || now - marks_.back().at >= kSameTime)
        marks_.push_back({total_, now});
    else
        marks_.back().end = total_;
}

base::Time Tail::time_of(std::size_t end) const {
    const std::uint64_t read = total_ - bytes_.size() + end;
    return std::ranges::find_if(marks_, [read](const Mark& each) { return each.end >= read; })->at;
}

std::optional<Tail::Shown> Tail::shown(std::string_view text) const {
    constexpr auto kInARow = std::chrono::milliseconds(50);  // an error that is logged and raised
    std::optional<Shown> found;
    if (text.empty()) return found;
    for (std::size_t at = bytes_.rfind(text); at != bytes_.npos;
         at = at > 0 ? bytes_.rfind(text, at - 1) : bytes_.npos) {
        const base::Time here = time_of(at + text.size());
        if (found && found->at - here > kInARow) {
            found->was_there_before = true;
            break;
        }
        found = Shown{.at = here};
    }
    return found;
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

std::vector<std::string> Tail::lines(int most, std::size_t longest) const {
    std::vector<std::string> found;
    std::string_view rest = bytes_;
    if (rest.ends_with('\n'))
        rest.remove_suffix(1);
    else if (rest.empty())
        return found;
    while (most-- > 0) {
        const std::size_t newline = rest.rfind('\n');
        if (newline != std::string_view::npos) {
            found.push_back(shortened(last_state(rest.substr(newline + 1)), longest));
            rest = rest.substr(0, newline);
            continue;
        }
        found.push_back(shortened(last_state(head_ + std::string(rest)), longest));
        break;
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace dlaunch::agent
