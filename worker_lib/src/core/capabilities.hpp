#pragma once
/// Which of the features in <dlaunch/backends.hpp> a call needs.

#include <dlaunch/backends.hpp>
#include "worker_lib/src/core/call.hpp"

namespace dlaunch::worker {

struct Transfer;

[[nodiscard]] Feature feature_of(const Call& call);
/// The most demanding feature of a message: recv_any, if it uses tags, any source or up_to; else send_recv.
[[nodiscard]] Feature feature_of(const Transfer& transfer);
/// "the backend shm has no all_reduce for device memory, use auto or nccl".
[[nodiscard]] std::string refusal(const std::string& backend, Feature feature, Device device);

}  // namespace dlaunch::worker
