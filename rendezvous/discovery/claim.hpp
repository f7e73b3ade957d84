#pragma once
/// The right to be the job's coordinator, where the place is not fixed: held by one process at a time, and lost by a
/// process that does not renew it.

#include <cstdint>
#include <memory>
#include <string>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

/// A claim that was acquired, for the process that renews it.
struct HeldClaim {
    std::string path;     ///< of the file
    std::string content;  ///< all of it; holds a random number, by which the owner knows its claim
    std::uint64_t number = 0;
};

/// How long a renewal entitles its owner to act, counted from before it was asked for. Others take a claim for dead
/// after half of the node time-out without a renewal, which is later.
[[nodiscard]] constexpr Milliseconds claim_lease(Milliseconds node_timeout) { return node_timeout * 2 / 5; }
[[nodiscard]] constexpr Milliseconds claim_dies_after(Milliseconds node_timeout) { return node_timeout / 2; }

/// The epoch of the first process that serves under a claim; its successors in the same place count on.
[[nodiscard]] constexpr std::uint64_t epoch_of_claim(std::uint64_t number) { return number << 16; }
[[nodiscard]] constexpr std::uint64_t claim_of_epoch(std::uint64_t epoch) { return epoch >> 16; }

/// Blocks as long as a file server does: call it in the background.
class Claim {
public:
    static constexpr Milliseconds kRenewEvery{500};

    enum class State : std::uint8_t {
        held,
        lost,     ///< another process has it, or it is gone: the owner must not act any more
        unknown,  ///< the system did not answer
    };

    virtual ~Claim() = default;
    [[nodiscard]] virtual State renew() = 0;
    /// The owner does not act any more. `job_is_over`: nothing is to be left; else another process may take the claim
    /// at once.
    virtual void release(bool job_is_over) = 0;
};

[[nodiscard]] std::unique_ptr<Claim> make_claim(HeldClaim claim);

}  // namespace dlaunch::rendezvous
