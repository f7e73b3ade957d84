#include "agent/logs/last_line.hpp"

#include <algorithm>

namespace dlaunch::agent {
namespace {

std::string_view after(std::string_view text, char mark) {
    const std::size_t at = text.rfind(mark);
    return at == std::string_view::npos ? text : text.substr(at + 1);
}

}  // namespace

/// Looks at the end of the bytes only: streams may deliver much.
void LastLine::add(std::string_view bytes, base::Time now) {
    const std::size_t newline = bytes.rfind('\n');
    if (newline == std::string_view::npos) return append(bytes, now);
    const std::string_view whole = bytes.substr(0, newline);
    const std::size_t previous = whole.rfind('\n');
    if (previous != std::string_view::npos) line_.clear();
    const std::string_view last = previous == std::string_view::npos ? whole : whole.substr(previous + 1);
    const bool is_blank = line_.empty() && last.find_first_not_of(" \t\r") == std::string_view::npos;
    if (is_blank && previous != std::string_view::npos)
        append_last_text(whole.substr(0, previous), now);
    else
        append(last, now);
    line_.clear();
    append(bytes.substr(newline + 1), now);
}

/// The last line with text of several whole ones.
void LastLine::append_last_text(std::string_view lines, base::Time now) {
    lines = lines.substr(0, lines.find_last_not_of(" \t\r\n") + 1);
    append(after(lines, '\n'), now);
    line_.clear();
}

void LastLine::append(std::string_view piece, base::Time now) {
    while (piece.ends_with('\r')) piece.remove_suffix(1);
    const std::string_view state = after(piece, '\r');
    if (state.size() != piece.size()) line_.clear();
    if (line_.size() < kMostBytes) line_ += state.substr(0, kMostBytes - line_.size());
    if (line_.find_first_not_of(" \t") == std::string::npos) return;
    text_ = line_;
    at_ = now;
}

}  // namespace dlaunch::agent
