#pragma once
/// Removes the remains of a run after a kill of both guard and agent: cgroups with detached processes, and temporary
/// folders, those of MPI ranks and of logs that are collected included. The user's next run does this.
///
/// Every agent, or the PMIx server that dies with it, holds a lock (flock) on each such folder. The kernel releases the
/// lock at the process's death. A pid is not
/// sufficient: it may be reused, or belong to another pid namespace.

#include <chrono>
#include <string>
#include <utility>

#include "rendezvous/base/background.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// Locks a folder until the descriptor is closed; none if another process holds the lock.
[[nodiscard]] base::UniqueFd hold_folder(const std::string& path);

struct LeftoverPlaces {
    std::string cgroups;    ///< parent of the runs' cgroups; empty: none
    std::string temporary;  ///< parent of the runs' temporary folders
    std::string memory{};   ///< parent of the runs' folders of shared memory; empty: none
};

/// Removes unlocked folders of this user. Spares folders younger than `age`, because their owners may be about to lock
/// them. Takes at most `patience`, unless a system call hangs.
void sweep_leftovers(const LeftoverPlaces& places, std::chrono::milliseconds age, std::chrono::milliseconds patience);

/// The same in the background, because a file server may not respond. Begins after a second, so that short jobs save
/// the cost.
class LeftoverSweep {
public:
    /// `temporary`: Plan::temporary_folder.
    LeftoverSweep(base::Loop& loop, std::string temporary) : loop_(loop), temporary_(std::move(temporary)) {}
    void begin_soon();

private:
    base::Loop& loop_;
    std::string temporary_;
    base::Timer delay_;
    base::Background sweeping_;
};

}  // namespace dlaunch::agent
