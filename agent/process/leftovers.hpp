#pragma once
/// Cleans up after runs of which guard and agent were killed together: kills and removes their cgroups, with processes
/// that workers had detached, and removes their temporary folders. Done by the user's next run.
///
/// Every agent holds a lock (flock) on each such folder. The kernel releases it when the agent dies. A pid would not
/// do: it may be reused, or belong to another pid namespace.

#include <chrono>
#include <string>

#include "rendezvous/base/aside.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// Locks a folder until the descriptor is closed; none if another process holds the lock.
[[nodiscard]] base::UniqueFd hold_folder(const std::string& path);

struct LeftoverPlaces {
    std::string cgroups;    ///< parent of the runs' cgroups; empty: none
    std::string temporary;  ///< parent of the runs' temporary folders
};

/// Removes unlocked folders of this user. Spares folders younger than `age`, because their owners may be about to lock
/// them. Takes at most `patience`, unless a system call hangs.
void sweep_leftovers(const LeftoverPlaces& places, std::chrono::milliseconds age, std::chrono::milliseconds patience);

/// The same in the background, because a folder on a file server may not answer. Begins after a second, so that short
/// jobs do not pay for it.
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
