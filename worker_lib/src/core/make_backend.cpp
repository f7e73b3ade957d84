#include <fmt/format.h>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/shm/backend.hpp"

namespace dlaunch::worker {

std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline) {
    const Place place{parts.name, parts.rank, static_cast<int>(parts.ranks.size())};
    if (parts.backend == "shm" || parts.backend == "auto")
        return shm::make_backend(place, parts.members, parts.store, deadline);
    throw Error(ErrorCode::invalid_argument,
                fmt::format("backend '{}' is unknown, expected auto, shm, gloo or nccl", parts.backend));
}

}  // namespace dlaunch::worker
