#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launcher/start/messages.hpp"
#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/wire/frames.hpp"

namespace dlaunch::launcher {

/// An agent's connection to the front end.
struct FrontConnection {
    std::shared_ptr<net::Stream> stream;
    std::shared_ptr<wire::Frames> frames;  ///< of the stream; may hold received bytes
    std::string address;                   ///< the one of the front end that answered
};

/// Dials all places at once, because an agent cannot know which address leads to the front end,
/// and takes the first connection that is welcome. `tls`: of a job with a token; null: an open one. Blocks, until
/// `deadline` at most.
[[nodiscard]] base::Result<FrontConnection> find_front(const std::vector<rendezvous::Endpoint>& places,
                                                       const NodeHello& hello, const auth::TlsContextPtr& tls,
                                                       base::Time deadline);

/// Waits for the order, and sends beats meanwhile. Blocks; an error if the front end is gone.
[[nodiscard]] base::Result<NodeOrder> await_order(const FrontConnection& front);

/// Sends the last frame, and waits until the front end, which closes the connection then, has it. Blocks for kLease at
/// most after its last byte.
void send_last(const FrontConnection& front, const NodeEnd& end);

}  // namespace dlaunch::launcher
