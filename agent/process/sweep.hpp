#pragma once
/// Kills processes that workers left behind. The agent is a subreaper, so an orphaned descendant becomes its child.
/// Descendants are found in /proc. If /proc is missing or belongs to another pid namespace, only children are found,
/// slowly and without names; that suffices, because the children of a killed process become the agent's.

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
    std::string command;  ///< name from /proc/PID/comm
};

/// Descendants of this process (without /proc: its children), except `spared` and their descendants.
[[nodiscard]] std::vector<pid_t> descendants(std::span<const pid_t> spared = {});

/// Living descendants with their names.
[[nodiscard]] std::vector<Swept> survey(std::span<const pid_t> spared = {});

/// Sends SIGKILL once to every living descendant, and returns their number. Neither waits nor reaps: the caller repeats
/// it when children have exited. Does not signal reused pids.
std::size_t kill_descendants(std::span<const pid_t> spared = {});

/// Kills and reaps all descendants, including new ones, until none lives or `deadline` has passed; false: some live.
/// Blocks, and reaps any child, so it is for processes without a loop.
bool sweep(std::chrono::milliseconds deadline, std::span<const pid_t> spared = {});

/// Kills the descendants of another process, which may be stopped and not reap them, until none lives, `deadline` has
/// passed, or `may_continue` returns false. Blocks. Without /proc it finds none.
void kill_below(pid_t ancestor, std::chrono::milliseconds deadline, const std::function<bool()>& may_continue);

/// Makes this process a subreaper: orphaned descendants become its children instead of init's.
void become_subreaper();

}  // namespace dlaunch::agent
