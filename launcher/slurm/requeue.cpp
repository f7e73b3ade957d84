#include "launcher/slurm/requeue.hpp"

#include <optional>

namespace dlaunch::launcher {
namespace {

/// The id of one task of a job array has two parts: that of the array alone would requeue all its tasks.
std::optional<std::string> id_of(const agent::Host& host) {
    const auto array = host.set_variable("SLURM_ARRAY_JOB_ID"), task = host.set_variable("SLURM_ARRAY_TASK_ID");
    if (array && task) return *array + "_" + *task;
    return host.set_variable("SLURM_JOB_ID");
}

}  // namespace

base::Result<agent::RequeuePlan> requeue_commands(const agent::Host& host) {
    const auto id = id_of(host);
    if (!id) return base::Error{"expected a job of SLURM"};
    if (host.variable("SLURM_PROCID").value_or("0") != "0") return agent::RequeuePlan();
    return agent::RequeuePlan{{"scontrol", "show", "job", *id}, {"scontrol", "requeue", *id}};
}

}  // namespace dlaunch::launcher
