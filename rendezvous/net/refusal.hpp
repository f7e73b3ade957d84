#pragma once
/// Why a service does not shake hands with this node, which has a token.

#include <string>

#include "rendezvous/net/stream.hpp"

namespace dlaunch::rendezvous {

struct Refusal {
    bool by_coordinator = false;  ///< by one of dlaunch, for the token; false: another service listens there
    std::string text;             ///< for users; empty: the connection was cut, which says nothing
};

/// `stream` is inside TLS, and its handshake has failed. The answer is not proven: any host on the path can
/// forge it. It may end a node that has not joined yet, never one whose workers run.
[[nodiscard]] Refusal refusal_of(const net::Stream& stream);

}  // namespace dlaunch::rendezvous
