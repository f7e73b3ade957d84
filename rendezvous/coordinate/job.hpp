#pragma once
/// The input of a coordinator process: the job's options, and the claim that it holds, if any.

#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/auth/token.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::rendezvous {

struct CoordinatorJob {
    /// Without incarnation, which each process has of its own; the snapshot is for the first process.
    Coordinator::Options options;
    std::optional<HeldClaim> claim;
    auth::TokenPtr token{};                         ///< null: an open job
    Time began = std::chrono::steady_clock::now();  ///< on this machine, for the report
};

/// For a process of the same program only: the format is not stable between versions. The caller overwrites the bytes
/// after use, which hold the token.
[[nodiscard]] std::string encode(const CoordinatorJob& job);
[[nodiscard]] std::optional<CoordinatorJob> decode_job(std::string_view bytes);

}  // namespace dlaunch::rendezvous
