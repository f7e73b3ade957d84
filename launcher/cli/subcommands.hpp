#pragma once
/// Subcommands with options of their own. Generates their --help and completions.

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

/// The options of a subcommand for its --help; `name` must be in subcommands().
[[nodiscard]] std::string options_help(std::string_view name);

}  // namespace dlaunch::launcher
