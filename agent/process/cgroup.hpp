#pragma once
/// One cgroup v2 per worker, where permitted: cgroup.kill reaches every process born inside, and out-of-memory kills
/// are counted. cgroups(7), Documentation/admin-guide/cgroup-v2.rst.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/process/birth_probe.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// The folder of this process's cgroup v2, below which it may be able to make cgroups; empty if there is none. Writes
/// nothing.
[[nodiscard]] std::string own_cgroup_folder();

/// kill_cgroup(), then removes the folder and everything below it. Safe if the folder does not exist.
void kill_and_remove_cgroup(const std::string& folder, std::chrono::milliseconds deadline);

/// Kills all processes in a cgroup and below (cgroup.kill, Linux 5.14), and waits up to `deadline` until it is empty.
void kill_cgroup(const std::string& folder, std::chrono::milliseconds deadline);

/// The cgroups of one agent: <own folder>/dlaunch-<pid>-<time>/<round>-<local rank>. Every round uses new ones: since
/// Linux 6.14, a process born into a cgroup that was killed once is killed, too (the kernel compares the cgroup's count
/// of kills with that of the parent process's cgroup).
class WorkerCgroups {
public:
    /// Only chooses the name. make() creates the folder after the guard, which may have to remove it, has received the
    /// name. `enabled` false: use no cgroups.
    explicit WorkerCgroups(bool enabled = true);

    /// The folder; empty: no cgroups.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// Creates the folder, and begins a test that a process can be born below it; on failure folder() becomes empty.
    void make();
    /// Completes the test of make(), which other work of the start overlaps; call before the first worker.
    void finish_making();

    /// Creates a worker's cgroup. Returns a descriptor for SpawnRequest::cgroup, or none.
    [[nodiscard]] base::UniqueFd open_worker(int round, int local_rank);
    /// The cgroup that counts a worker's memory; empty if it is not counted.
    [[nodiscard]] std::string worker_folder(int round, int local_rank) const;

    /// Finds the round's worker by the cgroup of a process, the worker's or one below it; none in any other cgroup.
    [[nodiscard]] std::optional<int> local_rank_of(pid_t pid, int round) const;

    /// Kills all processes in these cgroups.
    void kill_all();
    /// Removes the cgroups of the round's workers, which must be empty.
    void end_round();
    void remove();

private:
    void give_up();

    std::string folder_;
    std::unique_ptr<BirthProbe> probe_;  ///< between make() and finish_making()
    base::UniqueFd lock_;                ///< held while the agent lives; later runs test it
    bool counts_memory_ = false;
};

}  // namespace dlaunch::agent
