#pragma once
/// Whether the kernel killed for lack of memory: the oom_kill counters of memory cgroups before and after.

#include <cstdint>
#include <string>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// One counter of OOM kills. Finding it costs a few file reads, reading it one; nothing is kept open.
class OomCounter {
public:
    /// Of the cgroup (v2 memory.events, v1 memory.oom_control) this process lives in, else of the nearest one above,
    /// else of the machine (/proc/vmstat). `root` stands before every path: fake trees in tests.
    [[nodiscard]] static OomCounter of_this_process(const std::string& root = "");

    /// Of this cgroup folder and no other: a worker's own. Unknown where its memory is not counted.
    [[nodiscard]] static OomCounter of_folder(const std::string& folder);

    OomCounter() = default;  ///< always unknown

    /// Kills so far; -1 when unknown.
    [[nodiscard]] std::int64_t read() const;

    /// The least limit of the cgroup and those above it, "900 MiB"; empty when there is none.
    [[nodiscard]] std::string limit() const;

private:
    std::string folder_;  ///< empty for the machine's counter
    std::string file_;
};

/// What the counters said at one time: a worker's own and the nearest one above; -1 is unknown.
struct OomReading {
    std::int64_t own = -1, near = -1;
};

/// A worker was killed by SIGKILL between the two readings: was it the kernel, for lack of memory? Its own counter is
/// certain, either way; the one above may have risen for somebody else.
[[nodiscard]] OutOfMemory judge_out_of_memory(const OomReading& before, const OomReading& after);

}  // namespace dlaunch::agent
