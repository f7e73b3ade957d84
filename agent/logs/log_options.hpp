#pragma once

#include <string>

#include "agent/logs/logs.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// The options of this node's logs, from the plan.
[[nodiscard]] inline Logs::Options log_options(const Plan& plan, const std::string& host) {
    return {.plan = plan.logs,
            .job_id = plan.rendezvous.job_id,
            .role = plan.program.role,
            .host = host,
            .temporary = plan.temporary_folder,
            .workers = plan.workers,
            .console_is_raw = plan.workers == 1 && plan.rendezvous.max_nodes == 1,
            .is_shared = plan.rendezvous.max_nodes > 1};
}

}  // namespace dlaunch::agent
