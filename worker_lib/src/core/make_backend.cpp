#include <fmt/format.h>

#include <set>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/gloo/plugin.hpp"
#include "worker_lib/src/hierarchy/backend.hpp"
#include "worker_lib/src/nccl/backend.hpp"
#include "worker_lib/src/shm/backend.hpp"

namespace dlaunch::worker {
namespace {

/// One host: shm. One rank on each: gloo. Else both.
auto choose(const std::vector<Member>& members) {
    std::set<std::string> hosts;
    for (const Member& member : members) hosts.insert(member.host_id);
    return hosts.size() == 1                ? shm::make_backend
           : hosts.size() == members.size() ? make_gloo_backend
                                            : hierarchy::make_backend;
}

std::unique_ptr<Backend> make_host_backend(const GroupParts& parts, Time deadline) {
    const Place place{parts.name, parts.rank, static_cast<int>(parts.ranks.size())};
    const auto make = [&](auto function) { return function(place, parts.members, parts.store, deadline); };
    if (parts.backend == "auto") return make(choose(parts.members));
    if (parts.backend == "shm") return make(shm::make_backend);
    if (parts.backend == "gloo") return make(make_gloo_backend);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("backend '{}' is unknown, expected auto, shm, gloo or nccl", parts.backend));
}

}  // namespace

std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline) {
    if (parts.backend == "nccl") return nccl::make_backend(parts, deadline);
    auto host = make_host_backend(parts, deadline);
    return parts.backend == "auto" ? nccl::with_device_memory(std::move(host), parts) : std::move(host);
}

}  // namespace dlaunch::worker
