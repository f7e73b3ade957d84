#pragma once
/// Texts for users, generated from the table.

#include <string>

#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {

/// --help: at most 100 columns wide.
[[nodiscard]] std::string help_text();

/// The entry of one option there.
[[nodiscard]] std::string option_help(const Option& option);

/// `dlaunch version`.
[[nodiscard]] std::string version_text();

}  // namespace dlaunch::launcher
