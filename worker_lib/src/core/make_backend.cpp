#include <fmt/format.h>

#include <numeric>
#include <set>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/liveness_check.hpp"
#include "worker_lib/src/core/setup_failure.hpp"
#include "worker_lib/src/gloo/plugin.hpp"
#include "worker_lib/src/hierarchy/backend.hpp"
#include "worker_lib/src/nccl/backend.hpp"
#include "worker_lib/src/shm/backend.hpp"
#include "worker_lib/src/tcp/tcp_mesh.hpp"

namespace dlaunch::worker {
namespace {

/// The backend that `auto` stands for: shm on one host, tcp with one rank per host, else the hierarchy of both.
auto choose(const std::vector<Member>& members) {
    std::set<std::string> hosts;
    for (const Member& member : members) hosts.insert(member.host_id);
    return hosts.size() == 1                ? shm::make_backend
           : hosts.size() == members.size() ? tcp::make_backend
                                            : hierarchy::make_backend;
}

std::unique_ptr<Backend> make_watched(const GroupParts& parts, Time deadline, const SetupFailure& setup_failure) {
    const GroupInfo group = parts.info();
    std::vector<int> ranks(parts.ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto liveness = std::make_shared<LivenessCheck>(
        "new_group", LivenessCheck::Group{.name = parts.name,
                                          .rank = parts.rank,
                                          .ranks = ranks,
                                          .names = group.names,
                                          .in_job = parts.in_job ? parts.ranks : std::vector<int>{},
                                          .members = parts.members});
    const StoreHandle store = LivenessCheck::guarded(parts.store, liveness, [setup_failure] { setup_failure.check(); });
    const auto make = [&](auto function) { return function(group, parts.members, store, deadline); };
    if (parts.backend == "auto") return make(choose(parts.members));
    if (parts.backend == "shm") return make(shm::make_backend);
    if (parts.backend == "tcp") return make(tcp::make_backend);
    if (parts.backend == "gloo") return make(make_gloo_backend);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("backend '{}' is unknown, expected auto, shm, tcp, gloo or nccl", parts.backend));
}

/// Publishes a failure of this rank to the ranks that wait for it.
std::unique_ptr<Backend> make_host_backend(const GroupParts& parts, Time deadline) {
    const SetupFailure setup_failure(parts.store, parts.info());
    try {
        return make_watched(parts, deadline, setup_failure);
    } catch (const Error& error) {
        setup_failure.publish(error);
    } catch (const std::exception& error) {
        setup_failure.publish({ErrorCode::backend, fmt::format("group {}: {}", parts.name, one_line(error.what()))});
    }
}

}  // namespace

std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline) {
    if (parts.backend == "nccl") return nccl::make_backend(parts, deadline);
    auto host = make_host_backend(parts, deadline);
    return parts.backend == "auto" ? nccl::with_device_memory(std::move(host), parts) : std::move(host);
}

}  // namespace dlaunch::worker
