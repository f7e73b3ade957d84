#pragma once
/// What the launcher says through the environment.

#include <optional>
#include <string>

namespace dlaunch::worker {

/// Empty counts as unset.
[[nodiscard]] std::optional<std::string> variable(const char* name);
/// A whole number; throws Error (invalid_argument) that names the variable where it is something else.
[[nodiscard]] std::optional<int> integer_variable(const char* name);
/// The same, where it must be set: the error says how to start the program.
[[nodiscard]] std::string needed_variable(const char* name);
[[nodiscard]] int needed_integer_variable(const char* name);

}  // namespace dlaunch::worker
