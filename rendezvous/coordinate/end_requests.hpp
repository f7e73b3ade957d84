#pragma once
/// Which signals to a coordinator's process are new requests to end the job. The guard passes on those of users.
/// Another sender, as SLURM with proctrack/linuxproc, signals every process of the node, the guard included. No clock.

#include <chrono>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class EndRequests {
public:
    enum class Sender : unsigned char { guard, other };
    enum class Effect : unsigned char { none, end, end_at_once };

    /// SIGCONT has come: SLURM sends it between the two signals of a time limit.
    void continued(Time now) { continued_at_ = now; }

    [[nodiscard]] Effect heard(int number, Sender sender, Time now) {
        const auto since_heard = now - heard_at_, since_asked = now - asked_at_;
        heard_at_ = now;
        const bool is_first = number_ == 0;
        const bool is_copy = since_heard < kCopy || (continued_at_ > asked_at_ && since_asked < kBehindContinue);
        const bool is_for_all = sender == Sender::other && number == number_ && since_asked < kForAll;
        if (!is_first && (is_copy || is_for_all)) return Effect::none;
        asked_at_ = now;
        number_ = number;
        return is_first ? Effect::end : Effect::end_at_once;
    }

private:
    static constexpr auto kCopy = std::chrono::milliseconds(100);
    static constexpr auto kBehindContinue = std::chrono::milliseconds(500);
    static constexpr auto kForAll = std::chrono::milliseconds(1000);  ///< as the agents count requests

    Time asked_at_{}, heard_at_{}, continued_at_{};
    int number_ = 0;
};

}  // namespace dlaunch::rendezvous
