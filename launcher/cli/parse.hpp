#pragma once
/// Turns uses of options into settings.

#include <vector>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/settings.hpp"

namespace dlaunch::launcher {

/// Errors begin with the spelling of the use. The last use of an option counts, unless it is repeatable; all uses must
/// be valid.
[[nodiscard]] base::Result<Settings> parse(const std::vector<OptionUse>& uses);

}  // namespace dlaunch::launcher
