#pragma once

#include <string>
#include <string_view>

namespace dlaunch::launcher {

/// The script of --print-completion for bash, zsh or fish: completes options, their choices, and files after the
/// program.
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace dlaunch::launcher
