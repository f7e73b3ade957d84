#pragma once
/// A step of SLURM's srun, as one of its tasks sees it in the environment. No I/O.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// The place of this process in a step.
struct SlurmStep {
    std::string job_id;
    std::string step_id;
    std::vector<std::string> hosts;  ///< the step's nodes; the first one hosts the coordinator
    std::vector<int> tasks;          ///< number of tasks by node, as many as hosts
    int node = 0;                    ///< index of this node in `hosts`
    int local_task = 0;              ///< index of this task among those of its node

    [[nodiscard]] const std::string& host() const { return hosts[static_cast<std::size_t>(node)]; }
    [[nodiscard]] int tasks_here() const { return tasks[static_cast<std::size_t>(node)]; }
    /// "JOB.STEP", as SLURM's own tools write it.
    [[nodiscard]] std::string name() const { return job_id + "." + step_id; }
    /// The coordinator's port, below the ports that the kernel chooses. Steps of one job, and jobs with ids close to
    /// each other, have different ports.
    [[nodiscard]] int port() const;
};

/// Parses SLURM_TASKS_PER_NODE: "2(x3),1" is 2, 2, 2, 1. None: another form, or more than 65536 nodes.
[[nodiscard]] std::optional<std::vector<int>> parse_tasks_per_node(std::string_view text);

/// None if this process is no task of a step. An error if the variables of a step are incomplete or contradict each
/// other: a node with a wrong view of the job must not start one of its own.
[[nodiscard]] base::Result<std::optional<SlurmStep>> slurm_step(const agent::Host& host);

}  // namespace dlaunch::launcher
