#pragma once
/// Lines of the text report. Lines below its first are indented by two columns, a worker's own output by four.

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

using Lines = std::vector<std::string>;

inline constexpr std::string_view kMargin = "  ";
inline constexpr std::string_view kQuote = "    ";
inline constexpr std::size_t kMostErrorColumns = 94;

template <class... Args>
void line(Lines& out, std::string_view margin, fmt::format_string<Args...> text, Args&&... args) {
    out.push_back(std::string(margin) + fmt::format(text, std::forward<Args>(args)...));
}

/// The text that a terminal would finally show: applies '\r' of progress bars, and drops colours.
[[nodiscard]] std::string as_seen(std::string_view text);

/// The last lines on stderr as seen, without blank ones. Open MPI's note on MPI_Abort, a block between two dashed
/// lines, has the rank and the code, which the report's first line has: it is left out if the rank wrote anything else.
[[nodiscard]] Lines last_words(const std::vector<std::string>& stderr_tail);

/// "ranks 0-2, 5"
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);

/// The first lines of the message of an error.
[[nodiscard]] Lines message_of(const Failure& failure);

/// Lines of a stack that is no traceback of Python, without those that repeat the message.
[[nodiscard]] Lines stack_of(const ErrorRecord& record, const Lines& message);

}  // namespace dlaunch::agent
