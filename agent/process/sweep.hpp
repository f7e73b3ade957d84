#pragma once
/// Ends what workers left behind. The agent is a subreaper: a descendant that loses its parent becomes its child.
/// Descendants are found in /proc; where that is missing or of another pid namespace, only children are found, slowly,
/// and without names. That is enough, as the children of a killed process are the agent's next.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dlaunch::agent {

struct Swept {
    pid_t pid = 0;
    std::string command;  ///< its name, as ps shows it
};

/// Descendants of this process, or without /proc its children; without `spared` and what is below them.
[[nodiscard]] std::vector<pid_t> descendants(std::span<const pid_t> spared = {});

/// Descendants that live, by name.
[[nodiscard]] std::vector<Swept> survey(std::span<const pid_t> spared = {});

/// Sends SIGKILL to every living descendant, once, and returns how many there were. Neither waits nor reaps: the caller
/// looks again when children have ended. A number that another process has got meanwhile is not signalled.
std::size_t kill_descendants(std::span<const pid_t> spared = {});

/// Kills and reaps every descendant, those too that appear meanwhile, until none lives or `deadline` has passed.
/// Blocks, and reaps any child: for a process without a loop. False when some live.
bool sweep(std::chrono::milliseconds deadline, std::span<const pid_t> spared = {});

/// Kills every descendant of another process, which may be stopped and reap none of them, until none of them lives,
/// `deadline` has passed, or `goes_on` returns false. Blocks. Without /proc it finds none.
void kill_below(pid_t ancestor, std::chrono::milliseconds deadline, const std::function<bool()>& goes_on);

/// Becomes a subreaper: orphaned descendants become children of this process instead of init's.
void become_subreaper();

}  // namespace dlaunch::agent
