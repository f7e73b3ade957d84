#pragma once
/// The environment of one worker: torchrun's variables with torchrun's meaning, and ours. A pure function.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// What a node knows beside the plan.
struct NodeFacts {
    std::string host;          ///< as gethostname says
    std::string node_id;       ///< DLAUNCH_NODE_ID
    std::string agent_socket;  ///< DLAUNCH_AGENT_SOCKET; may be empty
    int usable_cores = 1;
};

/// Replaces a variable's value, or adds it.
void set_variable(Variables& variables, std::string_view name, std::string value);

/// What the user gave workers for a variable: --env, else the environment of dlaunch; none when it is unset.
[[nodiscard]] std::optional<std::string> given_variable(const Plan& plan, std::string_view name);

/// The variables that we set for a worker, over those that it inherits.
[[nodiscard]] Variables worker_variables(const Plan& plan, const Assignment& assignment, const NodeFacts& node,
                                         int local_rank, const std::string& error_file);

/// The same for a template (services/template.hpp), which has no rank: only what a program reads as it is loaded.
[[nodiscard]] Variables template_variables(const Plan& plan, const NodeFacts& node, const std::string& error_file);

/// The worker's whole argv: --wrap's words for this rank, then the program and its arguments with $local_rank and
/// ${local_rank} replaced where string.Template.safe_substitute would (arguments only). Every other byte stays, `$$`
/// too: torchrun halves it, which breaks `sh -c 'kill $$'`.
[[nodiscard]] std::vector<std::string> worker_command(const Plan& plan, const Assignment& assignment, int local_rank);

}  // namespace dlaunch::agent
