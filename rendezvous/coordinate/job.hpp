#pragma once
/// What a coordinator process is started with: the job's options, and the claim that it holds, if any.

#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::rendezvous {

struct CoordinatorJob {
    Coordinator::Options options;  ///< without a snapshot and an incarnation, which are the process's own
    std::optional<HeldClaim> claim;
};

/// For a process of the same program: bytes of another version are not understood.
[[nodiscard]] std::string encode(const CoordinatorJob& job);
[[nodiscard]] std::optional<CoordinatorJob> decode_job(std::string_view bytes);

}  // namespace dlaunch::rendezvous
