#include "rendezvous/coordinate/memory_link.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace dlaunch::rendezvous {

MemoryLink::MemoryLink(base::Loop& loop, Coordinator::Options options, Observer observer)
    : loop_(loop), observer_(std::move(observer)), coordinator_(std::move(options), base::Clock::now()) {}

void MemoryLink::connect() {
    disconnect();
    connection_ = ++connections_;
    observer_.connected();
}

void MemoryLink::disconnect() {
    if (const ConnectionId was = std::exchange(connection_, 0)) coordinator_.closed(base::Clock::now(), was, true);
    act();
}

void MemoryLink::send(const Message& message) {
    if (!connection_) return;
    coordinator_.received(base::Clock::now(), connection_, message);
    act();
}

/// An observer's reply adds actions. The outermost call performs them all, in order.
void MemoryLink::act() {
    if (std::exchange(acting_, true)) return;
    for (auto actions = coordinator_.take_actions(); !actions.empty(); actions = coordinator_.take_actions()) {
        for (const Coordinator::Action& action : actions) {
            if (const auto* send = std::get_if<Coordinator::Send>(&action)) {
                if (std::ranges::count(send->to, connection_)) observer_.received(send->message);
            } else if (const auto* close = std::get_if<Coordinator::Close>(&action)) {
                if (close->connection != connection_) continue;
                connection_ = 0;
                coordinator_.closed(base::Clock::now(), close->connection, true);
                observer_.closed(true);
            }
        }
    }
    acting_ = false;
    set_timer();
}

void MemoryLink::set_timer() {
    deadline_.set(coordinator_.finished() ? kNever : coordinator_.deadline(), [this] {
        coordinator_.tick(base::Clock::now());
        act();
    });
}

}  // namespace dlaunch::rendezvous
