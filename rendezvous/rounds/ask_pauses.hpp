#pragma once
/// Pauses between a member's requests to the discovery while no coordinator answers. A standby sends requests often.
/// The other members may be thousands: their pauses double, and are random. No clock.

#include <algorithm>
#include <cstdint>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class AskPauses {
public:
    static constexpr Milliseconds kOften{200};

    /// A coordinator has answered. `is_standby`: it has named this node as a standby.
    void joined(bool is_standby) {
        role_ = is_standby ? Role::standby : Role::other;
        pause_ = Milliseconds(0);
    }

    /// From kOften on for a newcomer, else from T/8; at most T/2. Up to twice as long at random.
    [[nodiscard]] Milliseconds next(Milliseconds node_timeout, std::uint64_t random) {
        if (role_ == Role::standby) return kOften;
        const Milliseconds first = role_ == Role::newcomer ? kOften : std::max(node_timeout / 8, kOften);
        const Milliseconds most = std::max(node_timeout / 4, first);
        pause_ = std::clamp(pause_ * 2, first, most);
        return pause_ + pause_ * static_cast<int>(random % kParts) / static_cast<int>(kParts);
    }

private:
    enum class Role : std::uint8_t { newcomer, standby, other };
    static constexpr std::uint64_t kParts = 1'024;

    Role role_ = Role::newcomer;
    Milliseconds pause_{0};
};

}  // namespace dlaunch::rendezvous
