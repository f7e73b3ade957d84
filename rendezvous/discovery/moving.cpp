#include "rendezvous/discovery/moving.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/base/listener.hpp"

namespace dlaunch::rendezvous {

void MovingDiscovery::learn(std::uint64_t epoch, Milliseconds waits) {
    known_epoch_ = std::max(known_epoch_.load(), epoch);
    waits_ = waits;
}

int MovingDiscovery::reserve_port(const std::string& address) {
    const std::lock_guard lock(bound_mutex_);
    auto socket = store::bind_free_port(address);
    if (!socket) return 0;
    bound_ = std::move(*socket);
    bound_address_ = address;
    return std::max(store::bound_port(bound_.get()), 0);
}

base::Result<Endpoint> MovingDiscovery::own_place(const std::string& address) {
    const std::lock_guard lock(bound_mutex_);
    if (!bound_ || bound_address_ != address) {
        auto socket = store::bind_free_port(address);
        if (!socket) return socket.error();
        bound_ = std::move(*socket);
        bound_address_ = address;
    }
    return Endpoint{address, store::bound_port(bound_.get())};
}

base::Result<store::Listener> MovingDiscovery::listen() {
    const std::lock_guard lock(bound_mutex_);
    return store::adopt_listener(std::move(bound_));
}

}  // namespace dlaunch::rendezvous
