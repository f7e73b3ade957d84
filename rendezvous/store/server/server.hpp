#pragma once
/// A store on a TCP port: sockets around the decoder and the core.
///
/// It runs on the caller's loop, in one thread, and nothing in it blocks. A client that sends half a message, or does
/// not read its replies, costs the others nothing: its replies are kept up to a limit, and then it is not read from
/// either. No name is ever looked up. What clients can make it hold is bounded: ServerLimits.
///
/// The coordinator is such a server: with hooks, messages from 0x40 up are handed to it, and it may send bytes to any
/// client at any time. See wire/tcpstore.hpp for their frame.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/base/connection_id.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/core/value.hpp"
#include "rendezvous/store/server/limits.hpp"

namespace dlaunch::store {

using base::ConnectionId;

/// Called from the loop. They may call send(), admit() and close() for any connection, also this one, but not stop().
struct ServerHooks {
    /// A message from 0x40 up. `payload` lives until the hook returns. Without this hook such a message ends its
    /// connection.
    std::function<void(ConnectionId from, std::uint8_t number, std::string_view payload)> extension;
    /// A connection that sent such a message is gone: it closed, broke the protocol, or was closed. The last call about
    /// it. `by_its_end`: its process, or the kernel of a process that died, has closed in order.
    std::function<void(ConnectionId gone, bool by_its_end)> closed;
    /// Whether the requests of a store are served beside those messages; else they end their connection.
    bool serves_requests = true;
};

class Server {
public:
    /// Listens on an IPv4 or IPv6 address; port 0 is a free one. Error: one line, such as "127.0.0.1:29500: Address
    /// already in use".
    static base::Result<std::unique_ptr<Server>> listen(base::Loop& loop, const std::string& address, int port,
                                                        ServerHooks hooks = {}, ServerLimits limits = {});
    /// Takes a bound TCP socket, listening already or not. A connection that was closed before is not served.
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
    /// The address a connection came from, as text without a port; empty when it is gone.
    [[nodiscard]] std::string address_of(ConnectionId connection) const;

    /// Bytes for a client, after all that it was sent before; nothing when it is gone. They are queued without limit:
    /// unread() tells the caller how much a client leaves unread.
    void send(ConnectionId to, std::string_view bytes);
    /// The same; large bytes are shared by all clients that are sent them.
    void send(ConnectionId to, const Value& bytes);
    [[nodiscard]] std::size_t unread(ConnectionId connection) const;
    /// The caller has accepted this client as a member: it may stay, and its messages may be long. A client whose first
    /// message is one from 0x40 up, and that is not admitted within half_open_time, is closed.
    void admit(ConnectionId connection);
    /// Ends a connection when what was sent to it has left, at the latest after half_open_time.
    void close(ConnectionId connection);

    /// Empties the store. Closes every connection that sent no message from 0x40 up, those too that wait to be
    /// accepted: what clients of an earlier round have sent, and the server has not read yet, does not count any more.
    void clear();

    /// Serves in this thread, without the loop, until the descriptor `stop` is readable. For a thread that has nothing
    /// else to do: a request costs two system calls, one less than through the loop's own epoll set.
    void serve_until(int stop);

    /// Closes the port and all connections at once. No hook is called.
    void stop();

private:
    struct Impl;
    template <class Bytes>
    void push(ConnectionId to, const Bytes& bytes);
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace dlaunch::store
