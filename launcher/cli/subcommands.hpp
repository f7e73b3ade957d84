#pragma once
/// Subcommands that take a set of options of their own. Their --help and the completions come from here.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {

struct Subcommand {
    std::string_view name;
    std::vector<const Option*> options;  ///< never null; `help` is the last
};

[[nodiscard]] std::span<const Subcommand> subcommands();

/// The options of one of them, as --help shows them; `name` must be one.
[[nodiscard]] std::string options_help(std::string_view name);

}  // namespace dlaunch::launcher
