#pragma once
/// Shared by the sources of ProcessGroup.

#include <limits>
#include <memory>

#include <dlaunch/process_group.hpp>
#include "worker_lib/src/core/group.hpp"

namespace dlaunch {

/// The group of a handle; throws for an empty one.
inline worker::Group& held(const std::shared_ptr<worker::Group>& group) {
    if (!group) throw Error(ErrorCode::invalid_argument, "this ProcessGroup is empty: call init_process_group() first");
    return *group;
}

/// The same for a call of the members, which throws on any other rank. `function`: the member function's name.
inline worker::Group& member(const std::shared_ptr<worker::Group>& group, const char* function) {
    worker::Group& called = held(group);
    if (!called.is_member()) called.refuse_outsider(function);
    return called;
}

/// The sum, saturated on overflow: no buffer has SIZE_MAX elements.
inline std::size_t sum(Counts counts) {
    std::size_t total = 0;
    for (const std::size_t count : counts)
        if (__builtin_add_overflow(total, count, &total)) return std::numeric_limits<std::size_t>::max();
    return total;
}

}  // namespace dlaunch
