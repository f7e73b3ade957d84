#pragma once

#include <memory>

#include "agent/process/clone.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// Tests whether a process can be born into a cgroup: see WorkerCgroups for kernels that kill such processes. The child
/// runs beside its parent, which does other work before it reads the result.
class BirthProbe {
public:
    /// Makes a child that exits at its first step.
    explicit BirthProbe(int cgroup);
    /// Waits for the child, which reads memory of this object.
    ~BirthProbe();
    BirthProbe(const BirthProbe&) = delete;
    BirthProbe& operator=(const BirthProbe&) = delete;

    /// Waits until the child has run, which takes some 0.1 ms, or was killed.
    [[nodiscard]] bool succeeded();

private:
    ChildOrders orders_{};
    std::unique_ptr<char[]> stack_ = std::make_unique_for_overwrite<char[]>(kChildStackBytes);
    base::UniqueFd pidfd_;
    bool born_inside_ = false;
};

}  // namespace dlaunch::agent
