#pragma once

#include <sys/types.h>

#include <optional>

namespace dlaunch::agent {

/// Of /proc/PID/stat, proc(5).
struct ProcessStat {
    char state = 'X';  ///< Z and X: dead
    pid_t parent = 0;
};

/// None when there is no such process. The numbers in /proc mean this namespace's processes only where proc_is_ours().
[[nodiscard]] std::optional<ProcessStat> stat_of(pid_t pid);

/// Whether /proc is there and of this process's own pid namespace: else its numbers are those of unrelated processes.
[[nodiscard]] bool proc_is_ours();

}  // namespace dlaunch::agent
