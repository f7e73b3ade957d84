#pragma once
/// Which variables of the front end's environment reach the nodes: --export. No I/O.

#include <string>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/host_options.hpp"

namespace dlaunch::launcher {

struct Export {
    std::vector<std::string> variables;  ///< "NAME=VALUE"
    bool keeps_own = false;              ///< they are added to the node's own environment; else they replace it
};

/// The variables that a rule chooses; a name that is not set is left out.
[[nodiscard]] Export exported(const ExportRule& rule, const agent::Variables& environment);

/// Whether a variable belongs to a host, a session or an outer job: no front end exports it, and a node keeps its own.
[[nodiscard]] bool stays_on_host(std::string_view name);

/// The environment of a node's dlaunch.
[[nodiscard]] std::vector<std::string> merged(const std::vector<std::string>& own, const Export& sent);

}  // namespace dlaunch::launcher
