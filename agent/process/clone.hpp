#pragma once

#include <sys/types.h>

#include <cstddef>

#include "agent/process/spawn_child.hpp"

namespace dlaunch::agent {

struct Cloned {
    pid_t pid = -1;  ///< -1: no process could be made, `error` says why
    int pidfd = -1;
    int error = 0;
    bool in_cgroup = false;
};

inline constexpr std::size_t kChildStackBytes = 32UL * 1024;

/// Makes a child that runs run_child(orders) in our memory, so that its cost does not depend on our size, born in the
/// cgroup `cgroup` when that is possible. Does not wait for it: several children may be on their way to their programs
/// at once, each with a stack of kChildStackBytes and orders of its own. All signals must be blocked.
[[nodiscard]] Cloned clone_child(ChildOrders* orders, void* stack, int cgroup);

/// The child reads its orders still: it has neither executed its program nor ended.
[[nodiscard]] bool is_on_its_way(const ChildOrders* orders);

/// Waits until the child of these orders has executed its program or ended.
void await_child(ChildOrders* orders);

}  // namespace dlaunch::agent
