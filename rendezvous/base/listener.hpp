#pragma once
/// Listening TCP sockets.

#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::store {

/// A listening socket and its address.
struct Listener {
    base::UniqueFd socket;
    std::string endpoint;  ///< "127.0.0.1:29500", "[::1]:29500"
    int port = 0;
};

/// The treatment of a name where an address is expected. A resolver may take seconds: no event loop waits for it.
enum class Names { refused, resolved };

/// Listens on a numeric address, or on the first address of a name; port 0 is a free one.
[[nodiscard]] base::Result<Listener> open_listener(const std::string& address, int port, Names names = Names::refused);

/// Binds a free port of a numeric address; dials are refused until adopt_listener().
[[nodiscard]] base::Result<base::UniqueFd> bind_free_port(const std::string& address);

/// Takes a bound socket, which may listen already. Accepted connections have TCP_NODELAY and detect the loss of the
/// peer's host within a minute.
[[nodiscard]] base::Result<Listener> adopt_listener(base::UniqueFd socket);

/// The port of a bound socket; -1 on an error.
[[nodiscard]] int bound_port(int socket);

}  // namespace dlaunch::store
