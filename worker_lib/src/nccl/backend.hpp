#pragma once

#include "worker_lib/src/core/group.hpp"

namespace dlaunch::worker::nccl {

/// Connects to the group's other ranks, each with its own GPU; throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline);

/// A backend that passes calls on host memory to `host`. The first collective on device memory loads NCCL and connects.
[[nodiscard]] std::unique_ptr<Backend> with_device_memory(std::unique_ptr<Backend> host, const GroupParts& parts);

}  // namespace dlaunch::worker::nccl
