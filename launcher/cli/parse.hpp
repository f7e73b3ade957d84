#pragma once
/// The uses of options that count -> settings.

#include <vector>

#include "launcher/cli/normalize.hpp"
#include "launcher/cli/settings.hpp"

namespace dlaunch::launcher {

/// Errors begin with the spelling of the use. Of several uses of one option the last counts, unless it is repeatable;
/// all of them must be right.
[[nodiscard]] base::Result<Settings> parse(const std::vector<OptionUse>& uses);

}  // namespace dlaunch::launcher
