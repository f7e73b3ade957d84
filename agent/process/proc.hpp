#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace dlaunch::agent {

/// From /proc/PID/stat, proc(5).
struct ProcessStat {
    char state = 'X';  ///< Z and X: dead
    pid_t parent = 0;
    std::chrono::milliseconds started{};  ///< since boot, in steps of 10 ms
};

/// The time since boot, as in ProcessStat.
[[nodiscard]] std::chrono::milliseconds since_boot();

/// None if there is no such process. Valid only if proc_is_ours().
[[nodiscard]] std::optional<ProcessStat> stat_of(pid_t pid);

/// The command name; empty: there is no such process, or it cannot be read.
[[nodiscard]] std::string name_of(pid_t pid);

/// The signals for which the process has a handler, as bit number - 1; 0: none, or it cannot be read.
[[nodiscard]] std::uint64_t handled_signals_of(pid_t pid);

/// Whether /proc shows this process's own pid namespace; else its numbers belong to unrelated processes.
[[nodiscard]] bool proc_is_ours();

}  // namespace dlaunch::agent
