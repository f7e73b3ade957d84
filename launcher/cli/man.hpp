#pragma once
/// The parts of dlaunch(1) that come from the table, as roff. A unit test keeps man/dlaunch.1 equal to them.

#include <string>

namespace dlaunch::launcher {

/// The body of OPTIONS.
[[nodiscard]] std::string man_options();

/// The list in ENVIRONMENT of variables that stand for options.
[[nodiscard]] std::string man_variables();

}  // namespace dlaunch::launcher
