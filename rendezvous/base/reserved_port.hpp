#pragma once
/// A TCP port that stays free for a server of another process.

#include "rendezvous/base/fd.hpp"

namespace dlaunch::base {

/// Holds a socket that is bound to the port at all addresses, with SO_REUSEPORT, and never listens: it takes no
/// connection from the server. The kernel gives the port to no connect() and to no other bind(), except to a socket of
/// the same user with SO_REUSEPORT, which gRPC's servers set. Closing the socket just before the server starts would
/// leave a time in which any process of the host may take the port.
class ReservedPort {
public:
    /// Chooses another port. Without one (no descriptor is left) port() is 0.
    void renew();
    [[nodiscard]] int port() const { return port_; }

private:
    UniqueFd socket_;
    int port_ = 0;
};

}  // namespace dlaunch::base
