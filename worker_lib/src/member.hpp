#pragma once
/// Shared by the sources of ProcessGroup.

#include <limits>
#include <memory>

#include <dlaunch/process_group.hpp>
#include "worker_lib/src/core/group.hpp"

namespace dlaunch {

/// The group if this process is a member, else nullptr; throws for an empty handle.
inline worker::Group* member(const std::shared_ptr<worker::Group>& group) {
    if (!group) throw Error(ErrorCode::invalid_argument, "this ProcessGroup is empty: call init_process_group() first");
    return group->is_member() ? group.get() : nullptr;
}

/// The sum, saturated on overflow: no buffer has SIZE_MAX elements.
inline std::size_t sum(Counts counts) {
    std::size_t total = 0;
    for (const std::size_t count : counts)
        if (__builtin_add_overflow(total, count, &total)) return std::numeric_limits<std::size_t>::max();
    return total;
}

}  // namespace dlaunch
