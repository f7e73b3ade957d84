#pragma once
/// The right to be the job's coordinator if its address is not fixed. One process at a time holds the claim, and must
/// renew it.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "rendezvous/base/time.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::rendezvous {

/// An acquired claim, for the process that renews it: a file in a folder.
struct FolderSeat {
    std::string path;     ///< of the file
    std::string content;  ///< the whole file; holds a random number that identifies the owner
    std::uint64_t number = 0;
    Time asked = std::chrono::steady_clock::now();  ///< before the request that made or renewed the claim
};

/// Likewise, keys in etcd.
struct EtcdSeat {
    EtcdPlace at;
    std::string prefix;   ///< of the job's keys
    std::string content;  ///< the claim's value; holds a random number that identifies the owner
    Milliseconds node_timeout{};
    Time asked = std::chrono::steady_clock::now();  ///< likewise
};

using HeldClaim = std::variant<FolderSeat, EtcdSeat>;

[[nodiscard]] inline Time& asked_of(HeldClaim& claim) {
    return std::visit([](auto& seat) -> Time& { return seat.asked; }, claim);
}

/// Validity of a renewal, counted from before the renewal's request. For standbys a claim is dead after half of the
/// node time-out without a renewal, which is later.
[[nodiscard]] constexpr Milliseconds claim_lease(Milliseconds node_timeout) { return node_timeout * 2 / 5; }
[[nodiscard]] constexpr Milliseconds claim_dies_after(Milliseconds node_timeout) { return node_timeout / 2; }

/// The epoch of the first process that serves under a claim. Its successors in the same seat count up from there.
/// `order` is higher for each claim of the job.
[[nodiscard]] constexpr std::uint64_t epoch_of_claim(std::uint64_t order) { return order << 16; }
[[nodiscard]] constexpr std::uint64_t claim_of_epoch(std::uint64_t epoch) { return epoch >> 16; }

/// Calls block as long as the file server does: make them in the background.
class Claim {
public:
    static constexpr Milliseconds kRenewEvery{500};
    static constexpr Milliseconds kAskAgain{100};  ///< after State::unknown: an election of etcd takes most of a lease

    enum class State : std::uint8_t {
        held,
        lost,     ///< another process holds the claim, or it is gone: the owner must stop acting
        unknown,  ///< the file server did not answer
    };

    virtual ~Claim() = default;
    [[nodiscard]] virtual State renew() = 0;
    /// The owner has stopped acting, and the job is over.
    virtual void remove() = 0;
    /// The owner has stopped acting, and another process may take the claim at once. `snapshot`: the owner's state,
    /// encoded, for a successor in the next moments; empty: the owner hands over no state.
    virtual void release(const std::string& snapshot) = 0;
};

/// Time after the latest renewal in which the owner of a vanished claim may claim again. Later, another owner may have
/// served and released the job in between.
inline constexpr auto kMayClaimAgain = 3 * Claim::kRenewEvery;
/// A claim that has been missing for so long does not come again, if its owner lives.
inline constexpr auto kMissingForGood = kMayClaimAgain + Claim::kRenewEvery;

[[nodiscard]] std::unique_ptr<Claim> make_claim(HeldClaim claim);

}  // namespace dlaunch::rendezvous
