#pragma once
/// Detects out-of-memory kills by the oom_kill counters of memory cgroups.

#include <cstdint>
#include <string>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// A counter of OOM kills. Finding it takes a few file reads, reading it one. Keeps nothing open.
class OomCounter {
public:
    /// The counter of this process's cgroup (v2 memory.events, v1 memory.oom_control), else of the nearest one above,
    /// else of the machine (/proc/vmstat). `root` is a prefix for all paths, for fake trees in tests.
    [[nodiscard]] static OomCounter of_this_process(const std::string& root = "");

    /// The counter of a worker's own cgroup. Unknown if its memory is not counted.
    [[nodiscard]] static OomCounter of_folder(const std::string& folder);

    OomCounter() = default;  ///< always unknown

    /// Kills so far; -1: unknown.
    [[nodiscard]] std::int64_t read() const;

    /// The lowest limit of the cgroup and those above it, "900 MiB"; empty: none.
    [[nodiscard]] std::string limit() const;

private:
    std::string folder_;  ///< empty for the machine's counter
    std::string file_;
};

/// Values of a worker's own counter and of the nearest one above; -1: unknown.
struct OomReading {
    std::int64_t own = -1, near = -1;
};

/// Whether a SIGKILL between the two readings was an OOM kill. The worker's own counter is conclusive; the one above
/// may have counted another process.
[[nodiscard]] OutOfMemory judge_out_of_memory(const OomReading& before, const OomReading& after);

}  // namespace dlaunch::agent
