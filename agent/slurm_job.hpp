#pragma once
/// Why SLURM ends a job, read from what `scontrol show job` prints. No I/O.

#include <string_view>

namespace dlaunch::agent {

/// True if SLURM ends the job neither at its time limit nor for a preemption: scancel, or the end of the batch script.
/// False for a job that runs (a signal alone ends nothing) or waits already to run again, and for an unknown answer.
[[nodiscard]] bool ends_for_good(std::string_view shown);

}  // namespace dlaunch::agent
