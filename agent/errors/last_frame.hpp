#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// The innermost frame of the Python traceback above the line `message`: the line `File "...", line N, in f` and its
/// source, without marks and without an indent. Empty: there is no such traceback. `message` may be empty for the last
/// traceback of `lines`.
[[nodiscard]] std::vector<std::string> last_frame(const std::vector<std::string>& lines, std::string_view message);

/// The lines of a text, without line ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace dlaunch::agent
