#include <dlaunch/distributed.hpp>

#include <numeric>

#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/liveness_check.hpp"
#include "worker_lib/src/process/standard_output.hpp"

namespace dlaunch {
namespace {

struct World {
    std::mutex mutex;
    std::optional<ProcessGroup> group;
};

/// Never destroyed, so that a program may end without destroy_process_group().
World& world() {
    static World& instance = *new World;
    return instance;
}

}  // namespace

ProcessGroup join_process_group(const InitOptions& options) {
    const worker::Time deadline = worker::after(options.timeout);
    worker::Bootstrap bootstrap = worker::bootstrap(options, deadline);
    worker::GroupParts parts{
        .name = options.group_name,
        .rank = bootstrap.rank,
        .world_rank = bootstrap.rank,
        .backend = options.backend.empty() ? worker::variable("DLAUNCH_BACKEND").value_or("auto") : options.backend,
        .timeout = options.timeout,
        .store = {bootstrap.store, bootstrap.prefix},
        .host = bootstrap.host,
        .in_job = bootstrap.in_job,
        .nccl = options.nccl};
    parts.ranks.resize(static_cast<std::size_t>(bootstrap.world_size));
    std::iota(parts.ranks.begin(), parts.ranks.end(), 0);
    {
        const auto liveness = std::make_shared<worker::LivenessCheck>(
            "init_process_group",
            worker::LivenessCheck::Group{.name = parts.name,
                                         .rank = parts.rank,
                                         .ranks = parts.ranks,
                                         .in_job = bootstrap.in_job ? parts.ranks : std::vector<int>{}});
        parts.members = worker::exchange_members(worker::LivenessCheck::guarded(parts.store, liveness), bootstrap.rank,
                                                 bootstrap.world_size, parts.backend, deadline);
    }
    return ProcessGroup(worker::Group::make(std::move(parts), deadline));
}

ProcessGroup init_process_group(const InitOptions& options) {
    worker::write_stdout_by_lines();
    {
        const std::lock_guard lock(world().mutex);
        if (world().group)
            throw Error(ErrorCode::invalid_argument,
                        "init_process_group was called twice without destroy_process_group() between");
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
