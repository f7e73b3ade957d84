#pragma once
/// The rules that keep rounds and coordinators from overlapping. Each is a function of its own, so that a test can
/// break it and check that the break is detected.

#include <cstddef>
#include <cstdint>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/blame.hpp"

namespace dlaunch::rendezvous {

class Rules {
public:
    virtual ~Rules() = default;

    /// After this silence a node has killed its workers: its lease is shorter (lease.hpp).
    [[nodiscard]] virtual Milliseconds silence_limit(Milliseconds node_timeout) const { return node_timeout; }
    /// After its lease a coordinator sends nothing more, because another one may serve.
    [[nodiscard]] virtual bool lease_has_ended(Time now, Time lease_until) const { return now >= lease_until; }
    /// A member has been welcomed by a later coordinator.
    [[nodiscard]] virtual bool is_replaced(std::uint64_t reported_epoch, std::uint64_t own_epoch) const {
        return reported_epoch > own_epoch;
    }
    /// No worker of the round lives.
    [[nodiscard]] virtual bool has_stopped(std::size_t running, bool expects_members) const {
        return running == 0 && !expects_members;
    }
    [[nodiscard]] virtual bool all_joined(std::size_t joined, std::size_t members) const { return joined >= members; }
    [[nodiscard]] virtual Time earliest_start(Time not_before) const { return not_before; }
    [[nodiscard]] virtual Blame::Outcome outcome(const Blame& blame) const { return blame.outcome(); }
};

}  // namespace dlaunch::rendezvous
