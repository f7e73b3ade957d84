#pragma once
/// The registry of this process's children. The agent is a subreaper, so orphaned descendants become its children; this
/// class reaps them. Registered children (workers, the template, helpers, starters) are reaped only by their owners,
/// which watch a pidfd each.

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <vector>

namespace dlaunch::agent {

/// One per process, used by one thread. Outlives the owners.
class Children {
public:
    enum class Kind : unsigned char {
        worker,   ///< belongs to one round; the end of the round sweeps its descendants
        lasting,  ///< template, helper or starter: sweeps spare it and its descendants
    };

    void add(pid_t pid, Kind kind) { kinds_[pid] = kind; }
    /// After the owner has reaped it.
    void remove(pid_t pid);

    /// A child with a still unknown pid may exist: reaps nothing until expected_is_known().
    void expect() { ++expected_; }
    void expected_is_known();

    /// On SIGCHLD: reaps dead children that are not registered. waitid() shows one dead child at a time, so they wait
    /// behind a registered one until its owner has reaped it.
    void reap_others();

    /// Children that a sweep must spare.
    [[nodiscard]] std::vector<pid_t> lasting() const;

private:
    std::map<pid_t, Kind> kinds_;
    int expected_ = 0;
    bool waiting_ = false;  ///< reap_others() has not finished
};

}  // namespace dlaunch::agent
