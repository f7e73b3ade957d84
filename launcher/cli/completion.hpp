#pragma once

#include <string>
#include <string_view>

namespace dlaunch::launcher {

/// What --print-completion prints for bash, zsh or fish: options, their choices, and files after the program.
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace dlaunch::launcher
