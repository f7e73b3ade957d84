#pragma once
/// A store on a TCP port: sockets around the decoder and the core.
///
/// It runs on the caller's loop, in one thread, and nothing in it blocks. A client that sends half a message, or does
/// not read its replies, costs the others nothing: its replies are kept up to a limit, and then it is not read from
/// either. No name is ever looked up.
///
/// The coordinator shares the listener: with hooks, messages from 0x40 up are handed to it, and it may send bytes to
/// any client at any time. See wire/tcpstore.hpp for their frame.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/core/value.hpp"

namespace dlaunch::store {

/// One accepted connection; never used again for another.
using PeerId = std::uint64_t;

/// Called from the loop. They may call send() and close() for any peer, also this one, but not stop().
struct ServerHooks {
    /// A message of ours. `payload` lives until the hook returns. Without this hook such a message ends its connection.
    std::function<void(PeerId peer, std::uint8_t number, std::string_view payload)> extension;
    /// A peer that sent such a message is gone: it closed, broke the protocol, or was closed. Last word about it.
    /// `by_its_end`: it, or the kernel of a process that died, has closed in order.
    std::function<void(PeerId peer, bool by_its_end)> closed;
};

struct ServerLimits {
    /// Connections that have not said their first message. The oldest goes when there are more.
    std::size_t half_open = 1024;
    base::Duration half_open_time = std::chrono::seconds(10);
    /// A client with more unread replies than this is not served until it reads; one reply may go over it.
    std::size_t unread_bytes = 1 << 20;
};

class Server {
public:
    /// Listens on an IPv4 or IPv6 address; port 0 is a free one. Error: one line, such as "127.0.0.1:29500: Address
    /// already in use".
    static base::Result<std::unique_ptr<Server>> listen(base::Loop& loop, const std::string& address, int port,
                                                        ServerHooks hooks = {}, ServerLimits limits = {});
    /// Takes a bound TCP socket, listening already or not. Who has come and gone before is not heard.
    static base::Result<std::unique_ptr<Server>> adopt(base::Loop& loop, base::UniqueFd listener,
                                                       ServerHooks hooks = {}, ServerLimits limits = {});
    /// One more bound TCP socket to accept clients from.
    base::Result<void> listen_too(base::UniqueFd listener);
    /// As stop().
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] int port() const;
    /// Where it listens: "127.0.0.1:29500" or "[::1]:29500".
    [[nodiscard]] const std::string& endpoint() const;
    /// The address a peer came from, as text without a port; empty when it is gone.
    [[nodiscard]] std::string address_of(PeerId peer) const;

    /// Bytes for a peer, after all that it was sent before; nothing when it is gone. They are queued without limit:
    /// unread() tells the caller how much a peer leaves lying.
    void send(PeerId peer, std::string_view bytes);
    /// The same; large bytes are shared by all peers that are sent them.
    void send(PeerId peer, const Value& bytes);
    [[nodiscard]] std::size_t unread(PeerId peer) const;
    /// Ends a connection when what was sent to it has left, at the latest after half_open_time.
    void close(PeerId peer);

    /// The store is empty again. Closes every connection on which nothing of ours was said, those too that wait to be
    /// accepted: what the dead have sent, and nobody has read yet, does not count any more.
    void forget();

    /// Serves in this thread, without the loop, until the descriptor `stop` is readable: for who has nothing else to
    /// do. Saves each request the way through the loop. Then only stop() and the destructor are left.
    void serve_until(int stop);

    /// Closes the port and all connections at once. No hook is called.
    void stop();

private:
    struct Impl;
    template <class Bytes>
    void push(PeerId peer, const Bytes& bytes);
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::store
