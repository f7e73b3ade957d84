#pragma once
/// Generates parts of man pages from the table, as roff. A unit test compares the pages with them.

#include <string>

namespace dlaunch::launcher {

/// The body of OPTIONS.
[[nodiscard]] std::string man_options();

/// The list of variables that set options.
[[nodiscard]] std::string man_variables();

}  // namespace dlaunch::launcher
