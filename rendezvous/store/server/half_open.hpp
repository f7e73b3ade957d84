#pragma once
/// Limits the number and the age of half-open connections: those that have not sent a valid first message yet. No I/O,
/// no clock.
///
/// Every client of torch 1.13 opens a second connection on which it never sends a byte, and would spin if the server
/// closed it. So an address with n such clients may have n silent connections.

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
    /// `hurried` replaces `patience` while new connections wait to be accepted.
    HalfOpen(std::size_t limit, base::Duration patience, base::Duration hurried)
        : limit_(limit), patience_(patience), hurried_(hurried) {}

    /// A connection was accepted.
    void enter(Slot slot, std::string address, base::Time now);
    /// The client's first message was valid.
    void greet(Slot slot, bool torch_1_13);
    /// The connection has closed.
    void leave(Slot slot);

    /// Whether the limit is reached: accept no more. No connection is closed to make room.
    [[nodiscard]] bool full() const { return waiting_.size() >= limit_; }
    /// Sets whether new connections wait, for this or for another reason.
    void hurry(bool newcomers_wait) { hurry_ = newcomers_wait; }

    /// Connections past their deadline, to be closed. They have left already.
    [[nodiscard]] std::vector<Slot> overdue(base::Time now);
    /// The earliest deadline; none while no connection is half-open.
    [[nodiscard]] std::optional<base::Time> next() const;

    [[nodiscard]] std::size_t size() const { return waiting_.size(); }

private:
    enum class State : std::uint8_t { gone, waiting, spared, served, torch_1_13 };
    struct Entry {
        State state = State::gone;
        std::string address;
        base::Time since;
        std::list<Slot>::iterator at;  // in waiting_, in that state
    };
    struct Address {
        std::size_t torch_1_13 = 0, spared = 0;
    };

    const std::size_t limit_;
    const base::Duration patience_, hurried_;
    bool hurry_ = false;
    std::vector<Entry> entries_;                          // by slot
    std::list<Slot> waiting_;                             // oldest first
    std::unordered_map<std::string, Address> addresses_;  // with clients of 1.13
};

}  // namespace dlaunch::store
