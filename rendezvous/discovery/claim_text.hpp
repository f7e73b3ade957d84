#pragma once
/// The content of a claim: the coordinator's place, the owner and the epoch. No I/O.

#include <cstdint>
#include <string>
#include <string_view>

#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::rendezvous {

/// The text of a new claim, with a random number that identifies the owner.
[[nodiscard]] std::string claim_text(const Endpoint& place, const std::string& host_name, std::uint64_t epoch);

/// An empty endpoint for a text that is no claim.
[[nodiscard]] Endpoint place_in(std::string_view claim);
/// 0 for a text that is no claim.
[[nodiscard]] std::uint64_t epoch_in(std::string_view claim);

/// The epoch of a new claim: above all that the claimant has seen, and at least the time (in ms since 1970), so that a
/// newcomer repeats no epoch where the claims were lost under a living job.
[[nodiscard]] std::uint64_t epoch_after(std::uint64_t seen, std::int64_t now_ms);

/// Encodes a job id for a file name or key; different ids have different names.
[[nodiscard]] std::string file_name_of_job(const std::string& job_id);

}  // namespace dlaunch::rendezvous
