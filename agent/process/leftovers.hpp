#pragma once
/// What stays of a run of which both processes were killed: its cgroup with whatever workers had detached, its
/// temporary folders. A later run of the same user ends and removes it.
///
/// Every run holds a lock (flock) on each such folder for as long as its agent lives: the kernel lifts it, however the
/// agent ends, and it tells more than a pid, which may be another's by now or belong to another pid namespace.

#include <chrono>
#include <string>

#include "rendezvous/base/aside.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// The lock on a folder of ours, held until the descriptor is closed; none where it cannot be had.
[[nodiscard]] base::UniqueFd hold_folder(const std::string& path);

struct LeftoverPlaces {
    std::string cgroups;    ///< where runs make their cgroups; empty: nowhere
    std::string temporary;  ///< where runs make temporary folders
};

/// Removes what is nobody's, of this user alone. A folder that is younger than `age` is left alone: its owner may just
/// be about to lock it. Takes `patience` at most, save for a system call that hangs.
void sweep_leftovers(const LeftoverPlaces& places, std::chrono::milliseconds age, std::chrono::milliseconds patience);

/// The same beside the loop, where runs of this process's surroundings leave theirs: a folder on a server may not
/// answer. After a second, as a job of milliseconds would feel the thread and its looking around.
class LeftoverSweep {
public:
    explicit LeftoverSweep(base::Loop& loop) : loop_(loop) {}
    void begin_soon();

private:
    base::Loop& loop_;
    base::Timer delay_;
    base::Aside sweeping_;
};

}  // namespace dlaunch::agent
