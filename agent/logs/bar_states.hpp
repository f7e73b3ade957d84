#pragma once
/// The states of a progress bar: a line that '\r' rewrites. No I/O.

#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Of a whole line that '\r' has rewritten: what a terminal shows at its end. A '\r' before the newline is of no
/// matter.
[[nodiscard]] inline std::string_view last_state(std::string_view line) {
    const std::size_t from_end = line.ends_with("\r\n") ? 3 : 2;
    if (line.size() < from_end) return line;
    const std::size_t at = line.rfind('\r', line.size() - from_end);
    return at == std::string_view::npos ? line : line.substr(at + 1);
}

/// Parts between '\r' that are not empty.
[[nodiscard]] inline std::vector<std::string_view> states_of(std::string_view text) {
    std::vector<std::string_view> states;
    while (!text.empty()) {
        const std::size_t end = text.find('\r');
        if (end > 0) states.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return states;
}

}  // namespace dlaunch::agent
