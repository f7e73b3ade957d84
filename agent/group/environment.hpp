#pragma once
/// The environment of one worker: torchrun's variables with torchrun's meaning, and ours. A pure function.

#include <string>
#include <utility>
#include <vector>

#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// NAME -> value pairs in the order of first mention; a later one replaces an earlier one.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// What a node knows beside the plan.
struct NodeFacts {
    std::string host;          ///< as gethostname says
    std::string node_id;       ///< DLAUNCH_NODE_ID
    std::string agent_socket;  ///< DLAUNCH_AGENT_SOCKET; may be empty
    std::string timer_file;    ///< TORCHELASTIC_TIMER_FILE; empty: not set
    int usable_cores = 1;
};

/// The variables that we set for a worker, over those that are inherited. `inherited` are the agent's own: it is asked
/// whether OMP_NUM_THREADS, TORCH_NCCL_ASYNC_ERROR_HANDLING and CUDA_VISIBLE_DEVICES were given.
[[nodiscard]] Variables worker_variables(const Plan& plan, const Assignment& assignment, const NodeFacts& node,
                                         int local_rank, const std::string& error_file, const Variables& inherited);

/// The same for a template (process/template.hpp), which is no rank: only what a program reads as it is loaded.
[[nodiscard]] Variables template_variables(const Plan& plan, const NodeFacts& node, const std::string& error_file,
                                           const Variables& inherited);

/// The worker's whole argv: --wrap's words for this rank, then the program and its arguments with $local_rank and
/// ${local_rank} replaced where string.Template.safe_substitute would (arguments only). Every other byte stays, `$$`
/// too: torchrun halves it, which breaks `sh -c 'kill $$'`.
[[nodiscard]] std::vector<std::string> worker_command(const Plan& plan, const Assignment& assignment, int local_rank);

}  // namespace dlaunch::agent
