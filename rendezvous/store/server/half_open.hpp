#pragma once
/// Connections whose client has not shown yet that it belongs here: how many may wait, and how long. No I/O, no clock.
///
/// One kind of silence is honest: every client of torch 1.13 opens a second connection on which it never sends a byte,
/// and would spin if that were closed. So an address that has n such clients may have n silent connections.

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/base/loop.hpp"
#include "rendezvous/store/core/slot.hpp"

namespace dlaunch::store {

class HalfOpen {
public:
    /// `hurried` is the patience while newcomers have to wait for a place.
    HalfOpen(std::size_t limit, base::Duration patience, base::Duration hurried)
        : limit_(limit), patience_(patience), hurried_(hurried) {}

    /// A connection was accepted.
    void enter(Slot slot, std::string address, base::Time now);
    /// Its client belongs here.
    void greet(Slot slot, bool torch_1_13);
    /// The connection is gone.
    void leave(Slot slot);

    /// No more newcomers may be accepted; nobody is closed to make room.
    [[nodiscard]] bool full() const { return waiting_.size() >= limit_; }
    /// Whether newcomers have to wait, for this or for another reason.
    void hurry(bool newcomers_wait) { hurry_ = newcomers_wait; }

    /// Connections to close now, as their time is over. They have left already.
    [[nodiscard]] std::vector<Slot> overdue(base::Time now);
    /// When to ask again; none while no connection is half open.
    [[nodiscard]] std::optional<base::Time> next() const;

    [[nodiscard]] std::size_t size() const { return waiting_.size(); }

private:
    enum class State : std::uint8_t { gone, waiting, spared, served, torch_1_13 };
    struct Entry {
        State state = State::gone;
        std::string address;
        base::Time since;
        std::list<Slot>::iterator at;  // in waiting_, while it waits
    };
    struct Address {
        std::size_t torch_1_13 = 0, spared = 0;
    };

    const std::size_t limit_;
    const base::Duration patience_, hurried_;
    bool hurry_ = false;
    std::vector<Entry> entries_;                          // by slot
    std::list<Slot> waiting_;                             // oldest first
    std::unordered_map<std::string, Address> addresses_;  // those with clients of 1.13
};

}  // namespace dlaunch::store
