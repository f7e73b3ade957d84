#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "agent/logs/logs.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// The role of each local rank.
[[nodiscard]] inline std::vector<std::string> roles_of(const Plan& plan) {
    std::vector<std::string> roles;
    for (const Context& context : plan.contexts)
        roles.insert(roles.end(), static_cast<std::size_t>(context.workers), context.program.role);
    return roles;
}

/// The readers of a terminal: this node's, or a front end's.
[[nodiscard]] inline StdinPlan typed_input(const Plan& plan, bool has_terminal) {
    using Mode = StdinPlan::Mode;
    const bool is_mpi = plan.contexts.front().program.mpi != MpiFamily::none;
    if (!has_terminal && plan.logs.front_terminals == 0) return {Mode::none};
    if (plan.standard_input.mode != Mode::automatic) return plan.standard_input;
    return is_mpi ? StdinPlan{Mode::rank, 0} : StdinPlan{Mode::none};  // a lone worker's bytes pass at once
}

/// The options of this node's logs, from the plan.
[[nodiscard]] inline Logs::Options log_options(const Plan& plan, const std::string& host) {
    const bool has_terminal = isatty(STDIN_FILENO) == 1;
    LogPlan logs = plan.logs;
    const bool gives_terminal = has_terminal && plan.standard_input.mode == StdinPlan::Mode::rank;
    if (gives_terminal) logs.live = false;
    return {.plan = std::move(logs),
            .job_id = plan.rendezvous.job_id,
            .host = host,
            .program = plan.contexts.front().program.name(),
            .roles = roles_of(plan),
            .temporary = plan.temporary_folder,
            .workers = plan.workers(),
            .console_is_raw = plan.workers() == 1 && plan.rendezvous.max_nodes == 1,
            .is_shared = plan.rendezvous.max_nodes > 1,
            .gives_terminal = gives_terminal,
            .typed = typed_input(plan, has_terminal)};
}

}  // namespace dlaunch::agent
