#include <fmt/format.h>

#include <algorithm>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/gloo/plugin.hpp"
#include "worker_lib/src/shm/backend.hpp"

namespace dlaunch::worker {

std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline) {
    const Place place{parts.name, parts.rank, static_cast<int>(parts.ranks.size())};
    const bool one_host = std::all_of(parts.members.begin(), parts.members.end(), [&](const Member& member) {
        return member.host_id == parts.members.front().host_id;
    });
    if (parts.backend == "shm" || (parts.backend == "auto" && one_host))
        return shm::make_backend(place, parts.members, parts.store, deadline);
    if (parts.backend == "gloo" || parts.backend == "auto")
        return make_gloo_backend(place, parts.members, parts.store, deadline);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("backend '{}' is unknown, expected auto, shm, gloo or nccl", parts.backend));
}

}  // namespace dlaunch::worker
