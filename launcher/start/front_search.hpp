#pragma once

#include <string>
#include <vector>

#include "launcher/start/messages.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::launcher {

/// An agent's connection to the front end, until the order to begin.
struct FrontConnection {
    base::UniqueFd socket;  ///< blocking
    std::string address;    ///< the one of the front end that answered
};

/// Dials all places at once, because an agent cannot know which address leads to the front end,
/// and takes the first connection that is welcome. Blocks, until `deadline` at most.
[[nodiscard]] base::Result<FrontConnection> find_front(const std::vector<rendezvous::Endpoint>& places,
                                                       const NodeHello& hello, base::Time deadline);

/// Waits for the order, and sends beats meanwhile. Blocks; an error if the front end is gone.
[[nodiscard]] base::Result<NodeOrder> await_order(int socket);

}  // namespace dlaunch::launcher
