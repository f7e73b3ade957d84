#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>

#include "agent/process/spawn_child.hpp"

namespace dlaunch::agent {

struct Cloned {
    pid_t pid = -1;  ///< -1: no process, `error` is the reason
    int pidfd = -1;
    int error = 0;
    bool in_cgroup = false;
};

inline constexpr std::size_t kChildStackBytes = 32UL * 1024;

/// Makes a child that runs run_child(orders) in shared memory, so that the cost does not depend on this process's size.
/// The child is born in `cgroup` if possible. Does not wait for the child: several may be starting at once, each with a
/// stack of kChildStackBytes and its own orders. All signals must be blocked.
[[nodiscard]] Cloned clone_child(ChildOrders* orders, void* stack, int cgroup);

/// True until the child has executed its program or exited; it reads its orders until then.
[[nodiscard]] bool is_starting(const ChildOrders* orders);

/// Waits until the child has executed its program or exited.
void await_child(const ChildOrders* orders);
/// The same. False: `limit` is over.
[[nodiscard]] bool await_child(const ChildOrders* orders, std::chrono::milliseconds limit);

}  // namespace dlaunch::agent
