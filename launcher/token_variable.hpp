#pragma once
/// DLAUNCH_TOKEN, which leaves the environment before any other process could see or inherit it.

#include <string_view>

namespace dlaunch::launcher {

/// Moves the variable out of this process's environment, overwrites the text that /proc/PID/environ shows, and hides
/// this process's memory.
/// Allocates nothing. To be called before any process is started.
void take_token_variable();

/// The variable's value; empty: unset. Of a value that is too long for a token, so much that it still is.
[[nodiscard]] std::string_view token_variable();

}  // namespace dlaunch::launcher
