#pragma once
/// Texts for people, made from the table.

#include <string>

namespace dlaunch::launcher {

/// --help: at most 100 columns wide.
[[nodiscard]] std::string help_text();

/// `dlaunch version`.
[[nodiscard]] std::string version_text();

}  // namespace dlaunch::launcher
