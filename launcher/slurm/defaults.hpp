#pragma once
/// SLURM's values for options that the user has not given. No I/O.

#include <optional>
#include <string>

#include "launcher/cli/settings.hpp"
#include "launcher/slurm/step.hpp"

namespace dlaunch::launcher {

/// The step whose values apply to this job. None outside of a step, under the name torchrun, with --standalone, and in
/// a worker: the step's nodes run the outer job.
[[nodiscard]] base::Result<std::optional<SlurmStep>> step_of_job(const agent::Host& host, const Settings& settings);

/// Whether an earlier task on this node prints errors of the command line, which all tasks have.
[[nodiscard]] bool is_later_task(const agent::Host& host);

/// Sets plan.requeue if the user gave --requeue; outside of SLURM a warning.
void apply_requeue(const agent::Host& host, Settings& settings);

/// Sets the number of nodes, the workers of this node, the endpoint and the job id, unless the user gave them. Several
/// tasks on a node share one agent, the first task's, unless the job has more nodes than the step: then every task is a
/// node of the job. Refuses a job that needs more nodes than the step has tasks: further nodes lack its endpoint.
[[nodiscard]] base::Result<void> apply_step(const SlurmStep& step, Settings& settings);

/// The line for a job of one node in an allocation of several nodes, if no option chooses nodes; else none.
[[nodiscard]] std::optional<std::string> unused_nodes(const agent::Host& host, const Settings& settings);

/// The line for a front end that starts its hosts by srun in a heterogeneous job, of which it sees one component; else
/// none.
[[nodiscard]] std::optional<std::string> unused_components(const agent::Host& host, const Settings& settings);

/// The line for a node of SLURM with more workers than usable cores; else none.
[[nodiscard]] std::optional<std::string> narrow_affinity(const agent::Host& host, int workers);

/// The line for an agent whose task is bound to some of the GPUs of the tasks that the agent serves; else none.
[[nodiscard]] std::optional<std::string> bound_gpus(const agent::Host& host, const agent::TaskPlan& tasks);

/// GPUs that SLURM has given to this node: SLURM_GPUS_ON_NODE, else the devices in CUDA_VISIBLE_DEVICES. None outside
/// of SLURM, and without either.
[[nodiscard]] std::optional<int> slurm_gpus(const agent::Host& host, const std::optional<std::string>& visible);

}  // namespace dlaunch::launcher
