#pragma once
/// Listening TCP sockets.

#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

/// A listening socket and where it listens.
struct Listener {
    base::UniqueFd socket;
    std::string endpoint;  ///< "127.0.0.1:29500", "[::1]:29500"
    int port = 0;
};

/// Listens on a numeric address, or on the first address of a name; port 0 is a free one.
[[nodiscard]] base::Result<Listener> open_listener(const std::string& address, int port);

/// Takes a bound socket, listening already or not. What it accepts sends without delay, and notices
/// within a minute that a peer's host is gone.
[[nodiscard]] base::Result<Listener> adopt_listener(base::UniqueFd socket);

/// The port of a bound socket; -1 where there is none.
[[nodiscard]] int bound_port(int socket);

}  // namespace dlaunch::store
