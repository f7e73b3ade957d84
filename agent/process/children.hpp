#pragma once
/// The registry of this process's children. As a subreaper the agent gets the orphans of its descendants as children,
/// too: those are reaped here. Registered children (workers, the template, helpers, starters) are reaped by their
/// owners alone, each of which watches a pidfd.

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <vector>

namespace dlaunch::agent {

/// One per process, on one thread; outlives the owners.
class Children {
public:
    enum class Kind : unsigned char {
        worker,   ///< lives in one round; its descendants are swept at the round's end
        lasting,  ///< a template, helper or starter: outlives rounds, and is spared with its descendants by their sweep
    };

    void add(pid_t pid, Kind kind) { kinds_[pid] = kind; }
    /// The owner has reaped it.
    void remove(pid_t pid);

    /// A child whose pid its owner does not know yet may exist: no child is reaped until the pid is added, or given up.
    void expect() { ++expected_; }
    void expected_is_known();

    /// SIGCHLD: reaps dead children that are not registered. Behind a dead registered child, which its owner reaps
    /// first, the others wait.
    void reap_others();

    /// What a sweep leaves alone.
    [[nodiscard]] std::vector<pid_t> lasting() const;

private:
    std::map<pid_t, Kind> kinds_;
    int expected_ = 0;
    bool waiting_ = false;  ///< reap_others() has more to do
};

}  // namespace dlaunch::agent
