#pragma once
/// A store on a TCP port: sockets, decoders and the core.
///
/// Runs on the caller's loop, in one thread, and never blocks. A client that sends half a message or does not read its
/// replies delays no other client: the server queues replies up to a limit, then stops reading from that client. No
/// name look-ups. ServerLimits bounds the resources that clients can use.
///
/// The coordinator is such a server with hooks: it receives the extension messages (from 0x40 up, framed as in
/// wire/tcpstore.hpp), and may send bytes to any client at any time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/connection_id.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/store/core/value.hpp"
#include "rendezvous/store/server/limits.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {

using base::ConnectionId;

/// A client whose token does not fit.
enum class Stranger : std::uint8_t {
    without_token,     ///< sends extension messages in plain
    with_token,        ///< speaks TLS, and this server has no token
    of_another_token,  ///< its key is not this server's
};

/// Called from the loop. A hook may call send(), admit() and close() for any connection, but not stop().
struct ServerHooks {
    /// An extension message. `payload` is valid until the hook returns. Without this hook such a message closes its
    /// connection.
    std::function<void(ConnectionId from, std::uint8_t number, std::string_view payload)> extension;
    /// A connection that sent an extension message has ended. `by_fin`: the peer sent FIN, from its process or from
    /// the kernel after its death; false: a reset, a protocol error, or close().
    std::function<void(ConnectionId gone, bool by_fin)> closed;
    /// Before `closed`, of a client inside TLS that did not end in order: the last bytes that it sent, sealed or not.
    std::function<void(ConnectionId gone, std::string_view trailing)> trailing;
    /// A line for the user about a limit that clients have reached; at most one a minute.
    std::function<void(const std::string& text)> warn;
    /// Whether store requests are served, too; else they close their connection.
    bool serves_requests = true;
    /// Set: extension messages are accepted inside TLS only. Store requests come in plain, for torch's clients cannot
    /// speak TLS.
    auth::TlsContextPtr tls;
    /// Whether trunks (wire/trunk.hpp) are accepted, once take_trunks() was called.
    bool takes_trunks = false;
    /// Set: store requests go here instead of to a store of this server; false: the request is refused. The replies are
    /// sent with send(). `closed` is called for every client then.
    std::function<bool(ConnectionId from, const wire::Request&, wire::Numbering)> request;
    /// With `request`: no further requests come from this client. It has ended its stream, sent none of the protocol's,
    /// or was refused. Must close() it when its replies are sent.
    std::function<void(ConnectionId)> finished;
    /// Nothing that was sent to this client waits any more. Must not send.
    std::function<void(ConnectionId)> drained;
    /// Whether an accepted connection may stay; else it is closed without a byte.
    std::function<bool(int socket)> admits;
    /// A client that this server refuses for its token, or for none. Returns the bytes to send in plain before the
    /// connection closes; TLS has alerts for the other cases. Without this hook, such clients are closed in silence.
    std::function<std::string(const std::string& address, Stranger)> stranger;
};

class Server {
public:
    /// Listens on an IPv4 or IPv6 address; port 0 is a free one. Error: one line, such as "127.0.0.1:29500: Address
    /// already in use".
    static base::Result<std::unique_ptr<Server>> listen(base::Loop& loop, const std::string& address, int port,
                                                        ServerHooks hooks = {}, ServerLimits limits = {});
    /// Takes a bound TCP socket, which may listen already. Connections that the client has closed by now are dropped.
    static base::Result<std::unique_ptr<Server>> adopt(base::Loop& loop, base::UniqueFd listener,
                                                       ServerHooks hooks = {}, ServerLimits limits = {});
    /// Accepts clients from one more bound TCP socket.
    base::Result<void> listen_too(base::UniqueFd listener);
    /// Calls stop().
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] int port() const;
    /// The listening address: "127.0.0.1:29500" or "[::1]:29500".
    [[nodiscard]] const std::string& endpoint() const;
    /// The client's address without a port; empty if the connection has ended.
    [[nodiscard]] std::string address_of(ConnectionId connection) const;

    /// The number of clients whose connection has not ended.
    [[nodiscard]] std::size_t clients() const;

    /// Queues bytes for a client, without a limit; callers check unread(). No effect if the connection has ended.
    void send(ConnectionId to, std::string_view bytes);
    /// The same; all receivers share large bytes.
    void send(ConnectionId to, const Value& bytes);
    [[nodiscard]] std::size_t unread(ConnectionId connection) const;
    /// Accepts this client as a member: its connection may stay and its messages may be long. A client that opens with
    /// an extension message and is not admitted within half_open_time is closed.
    void admit(ConnectionId connection);
    /// Closes a connection after its queued bytes are sent, at the latest after half_open_time.
    void close(ConnectionId connection);

    /// While a client is on hold, its further requests wait, and it is not read from.
    void hold(ConnectionId connection, bool on);
    /// Likewise for all clients.
    void hold_all(bool on);

    /// Empties the store. Closes every connection that sent no extension message, including those that wait to be
    /// accepted, so that requests of an earlier round cannot take effect in the next.
    void clear();

    /// Accepts trunks whose hello has this key, and closes those with another one. Each channel of a trunk is a client
    /// of the store.
    void take_trunks(std::string key);

    /// Whether workers that use the store may live now; true at first. While `expected` is false, the store is empty at
    /// first and may keep little, and its clients count as silent: they are closed when members wait for descriptors.
    void expect_requests(bool expected);

    /// Serves in this thread, without the loop, until the descriptor `stop` is readable. For a dedicated thread: a
    /// single client's request costs three system calls; through the loop's own epoll set it costs five.
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
