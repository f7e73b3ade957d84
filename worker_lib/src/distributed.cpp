#include <dlaunch/distributed.hpp>

#include <numeric>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/lookout.hpp"
#include "worker_lib/src/meeting/environment.hpp"

namespace dlaunch {
namespace {

struct World {
    std::mutex mutex;
    std::optional<ProcessGroup> group;
};

/// Never destroyed: a program that ends without destroy_process_group() just ends.
World& world() {
    static World& only = *new World;
    return only;
}

}  // namespace

ProcessGroup join_process_group(const InitOptions& options) {
    const worker::Time deadline = worker::after(options.timeout);
    worker::Meeting meeting = worker::meet(options, deadline);
    worker::GroupParts parts{
        .name = options.group_name,
        .rank = meeting.rank,
        .backend = options.backend.empty() ? worker::variable("DLAUNCH_BACKEND").value_or("auto") : options.backend,
        .timeout = options.timeout,
        .store = {meeting.store, meeting.prefix},
        .host = meeting.host,
        .in_job = meeting.in_job};
    parts.ranks.resize(static_cast<std::size_t>(meeting.world_size));
    std::iota(parts.ranks.begin(), parts.ranks.end(), 0);
    {
        const auto lookout = std::make_shared<worker::Lookout>(
            "init_process_group", worker::Lookout::Group{.name = parts.name,
                                                         .rank = parts.rank,
                                                         .ranks = parts.ranks,
                                                         .in_job = meeting.in_job ? parts.ranks : std::vector<int>{}});
        parts.members =
            worker::introduce(worker::Lookout::guard(parts.store, lookout), meeting.rank, meeting.world_size, deadline);
    }
    return ProcessGroup(worker::Group::make(std::move(parts), deadline));
}

ProcessGroup init_process_group(const InitOptions& options) {
    {
        const std::lock_guard lock(world().mutex);
        if (world().group)
            throw Error(ErrorCode::invalid_argument,
                        "init_process_group was called twice; destroy_process_group() comes between");
    }
    ProcessGroup group = join_process_group(options);
    const std::lock_guard lock(world().mutex);
    world().group = group;
    return group;
}

void destroy_process_group() {
    std::optional<ProcessGroup> group;  // destroyed outside the lock
    const std::lock_guard lock(world().mutex);
    group.swap(world().group);
}

bool is_initialized() {
    const std::lock_guard lock(world().mutex);
    return world().group.has_value();
}

ProcessGroup default_group() {
    const std::lock_guard lock(world().mutex);
    if (!world().group) throw Error(ErrorCode::invalid_argument, "init_process_group() was not called");
    return *world().group;
}

}  // namespace dlaunch
