#pragma once

#include <cstddef>
#include <string>
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

/// The options of this node's logs, from the plan.
[[nodiscard]] inline Logs::Options log_options(const Plan& plan, const std::string& host) {
    return {.plan = plan.logs,
            .job_id = plan.rendezvous.job_id,
            .host = host,
            .roles = roles_of(plan),
            .temporary = plan.temporary_folder,
            .workers = plan.workers(),
            .console_is_raw = plan.workers() == 1 && plan.rendezvous.max_nodes == 1,
            .is_shared = plan.rendezvous.max_nodes > 1};
}

}  // namespace dlaunch::agent
