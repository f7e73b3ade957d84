#pragma once
/// The rules that keep rounds and coordinators apart. Each is a function of its own, so that a test can break it and
/// show that the break is noticed.

#include <cstddef>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/blame.hpp"

namespace dlaunch::rendezvous {

class Rules {
public:
    virtual ~Rules() = default;

    /// A node that was silent for so long has killed its workers: its lease is shorter (lease.hpp).
    [[nodiscard]] virtual Milliseconds silence_limit(Milliseconds node_timeout) const { return node_timeout; }
    /// From then on a coordinator answers nothing, as another one may serve.
    [[nodiscard]] virtual bool lease_has_ended(Time now, Time lease_until) const { return now >= lease_until; }
    /// No worker of the round lives.
    [[nodiscard]] virtual bool has_stopped(std::size_t running, bool awaits_members) const {
        return running == 0 && !awaits_members;
    }
    [[nodiscard]] virtual bool all_came(std::size_t came, std::size_t members) const { return came >= members; }
    [[nodiscard]] virtual Time earliest_start(Time not_before) const { return not_before; }
    [[nodiscard]] virtual Blame::Outcome outcome(const Blame& blame) const { return blame.outcome(); }
};

}  // namespace dlaunch::rendezvous
