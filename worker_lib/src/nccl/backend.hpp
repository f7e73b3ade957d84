#pragma once

#include "worker_lib/src/core/group.hpp"

namespace dlaunch::worker::nccl {

/// Joins the group's other ranks, each with a GPU of its own; throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline);

/// Host memory goes by `host`; NCCL is loaded, and connected, in the first collective on device memory.
[[nodiscard]] std::unique_ptr<Backend> with_device_memory(std::unique_ptr<Backend> host, const GroupParts& parts);

}  // namespace dlaunch::worker::nccl
