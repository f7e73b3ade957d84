#pragma once
/// The environment of one worker: torchrun's variables with torchrun's meaning, and dlaunch's own. Pure functions.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/binding/visibility.hpp"
#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// Facts of this node beside the plan.
struct NodeFacts {
    std::string host;          ///< from gethostname(2)
    std::string node_id;       ///< DLAUNCH_NODE_ID
    std::string agent_socket;  ///< DLAUNCH_AGENT_SOCKET; may be empty
    int usable_cores = 1;
    std::chrono::system_clock::time_point began{};  ///< when the agent began
};

/// Replaces a variable's value, or adds it.
void set_variable(Variables& variables, std::string_view name, std::string value);

/// The user's value of a variable for the workers of a context: from --env, else from dlaunch's environment; none:
/// unset in both.
[[nodiscard]] std::optional<std::string> given_variable(const Plan& plan, const Context& context,
                                                        std::string_view name);

/// The same, unless the variable was set by an outer dlaunch that has started this one as a worker.
[[nodiscard]] std::optional<std::string> own_variable(const Plan& plan, const Context& context, std::string_view name);

/// given_variable() as a function. Plan and context must outlive it.
[[nodiscard]] VariableLookup variables_given(const Plan& plan, const Context& context);

/// The variables that all workers of the node have; where contexts have different values, the inherited ones. The plan
/// must outlive the function.
[[nodiscard]] VariableLookup shared_variables(const Plan& plan);

/// Whether the context's --env has a list of devices for its workers alone. A list that all contexts have is shared, as
/// that of a front end, which chose among a host's devices.
[[nodiscard]] bool has_own_devices(const Plan& plan, const Context& context);

/// The variables that dlaunch sets for a worker; they replace inherited ones.
[[nodiscard]] Variables worker_variables(const Plan& plan, const Assignment& assignment, const NodeFacts& node,
                                         int local_rank, const std::string& error_file);

/// The same for a template (services/template.hpp), which is the program of the only context: only variables that a
/// program reads while it loads, since a template has no rank.
[[nodiscard]] Variables template_variables(const Plan& plan, const NodeFacts& node, const std::string& error_file);

/// The worker's whole argv: --wrap's words for this rank, then the program and its arguments with $local_rank and
/// ${local_rank} replaced where string.Template.safe_substitute would (arguments only). Every other byte stays, even
/// `$$`, which torchrun halves: that breaks `sh -c 'kill $$'`.
[[nodiscard]] std::vector<std::string> worker_command(const Plan& plan, const Assignment& assignment, int local_rank);

}  // namespace dlaunch::agent
