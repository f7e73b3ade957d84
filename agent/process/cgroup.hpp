#pragma once
/// One cgroup v2 per worker, where one can be made: what is born inside cannot leave the reach of cgroup.kill, and its
/// out-of-memory kills are counted. cgroups(7), Documentation/admin-guide/cgroup-v2.rst.

#include <chrono>
#include <string>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// Where this process may make cgroups: its own cgroup v2 folder, or empty when there is none. Nothing is written.
[[nodiscard]] std::string own_cgroup_folder();

/// Kills everything below a cgroup folder (cgroup.kill, Linux 5.14) and removes it and its direct subfolders, waiting
/// up to `deadline` for the dead to leave. Safe when the folder does not exist.
void kill_and_remove_cgroup(const std::string& folder, std::chrono::milliseconds deadline);

/// Kills everything in a cgroup folder and below it, and waits up to `deadline` for the dead to leave.
void kill_cgroup(const std::string& folder, std::chrono::milliseconds deadline);

/// The cgroups of one agent: <own folder>/dlaunch-<pid>-<time>/<round>-<local rank>. New ones for every round: Linux
/// 6.14 and later kill whatever is born into a cgroup that was killed once (they compare its count of kills with that
/// of the parent's own cgroup).
class WorkerCgroups {
public:
    /// Names the folder only; make() creates it, after the guard, which may have to remove it, knows the name. With
    /// `enabled` false there is none, as where no cgroup can be made.
    explicit WorkerCgroups(bool enabled = true);

    /// The folder; empty when cgroups are not to be used.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// Creates the folder and tries whether a process can be born below it; on failure folder() is empty from then on.
    void make();

    /// Creates a worker's cgroup; a descriptor for spawn(), or none.
    [[nodiscard]] base::UniqueFd open_worker(int round, int local_rank);
    /// Where a worker's memory is counted; empty when it is not.
    [[nodiscard]] std::string worker_folder(int round, int local_rank) const;

    /// Kills everything in them.
    void kill_all();
    /// The round is over: removes its workers' cgroups. No process lives in them.
    void end_round();
    void remove();

private:
    std::string folder_;
    base::UniqueFd lock_;  ///< held for the run's life; later runs see it
    bool counts_memory_ = false;
};

}  // namespace dlaunch::agent
