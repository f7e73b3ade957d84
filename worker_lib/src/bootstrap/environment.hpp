#pragma once
/// The variables that a launcher sets for its workers.

#include <optional>
#include <string>

namespace dlaunch::worker {

/// The value of a variable; unset if it is missing or empty.
[[nodiscard]] std::optional<std::string> variable(const char* name);
/// A variable that holds an integer; throws Error (invalid_argument) that names the variable if it holds something
/// else.
[[nodiscard]] std::optional<int> integer_variable(const char* name);
/// The same for required variables. The Error for a missing one explains how to start the program.
[[nodiscard]] std::string needed_variable(const char* name);
[[nodiscard]] int needed_integer_variable(const char* name);

}  // namespace dlaunch::worker
