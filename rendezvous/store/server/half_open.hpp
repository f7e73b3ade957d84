#pragma once
/// Connections that have not said their first message yet: how many may wait, and how long. No I/O and no clock.
///
/// One kind of silence is honest: every client of torch 1.13 opens a second connection on which it never says a word,
/// and would spin if that were closed. So an address that has n such clients may have n silent connections.

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::store {

class HalfOpen {
public:
    using Slot = std::uint32_t;

    HalfOpen(std::size_t limit, base::Duration patience) : limit_(limit), patience_(patience) {}

    /// A connection is there.
    void enter(Slot slot, std::string address, base::Time now);
    /// It has said its first message.
    void greet(Slot slot, bool torch_1_13);
    /// It is gone.
    void leave(Slot slot);

    /// Those to close now: whose time is over, and the oldest where there are too many. They have left already.
    [[nodiscard]] std::vector<Slot> overdue(base::Time now);
    /// When to ask again; none while nobody is half open.
    [[nodiscard]] std::optional<base::Time> next() const;

    [[nodiscard]] std::size_t size() const { return waiting_.size(); }

private:
    enum class State : std::uint8_t { gone, waiting, spared, served, torch_1_13 };
    struct Place {
        State state = State::gone;
        std::string address;
        base::Time since;
        std::list<Slot>::iterator at;  // in waiting_, while it waits
    };
    struct Address {
        std::size_t torch_1_13 = 0, spared = 0;
    };

    const std::size_t limit_;
    const base::Duration patience_;
    std::vector<Place> places_;                           // by slot
    std::list<Slot> waiting_;                             // oldest first
    std::unordered_map<std::string, Address> addresses_;  // those with clients of 1.13
};

}  // namespace dlaunch::store
