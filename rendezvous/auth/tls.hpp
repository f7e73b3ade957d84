#pragma once
/// One side of a TLS connection without I/O: sealed bytes in, plain bytes out, and back. No socket, no clock.

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rendezvous/auth/tls_context.hpp"

struct ssl_st;

namespace dlaunch::auth {

class Tls {
public:
    enum class Side : std::uint8_t { server, client };
    enum class State : std::uint8_t {
        handshake,
        open,
        ended,  ///< the peer has sent its end in order: no more plain bytes come, but they may still be written
        failed
    };
    /// Why a connection has failed. Before the end of its handshake the reason is not proven: any host on the path
    /// can forge an alert.
    enum class Failure : std::uint8_t {
        none,
        other_key,    ///< the peer has another key
        no_key,       ///< one side has no key of this name
        version,      ///< no common version of TLS
        certificate,  ///< that of the server is not accepted, or the server does not accept the client's
        garbage       ///< no TLS, or bytes that were changed
    };

    /// `server_name`: a name or address that the server's certificate must have; for contexts with certificates. A
    /// client's first bytes are in sealed() at once. Throws std::bad_alloc.
    Tls(TlsContextPtr context, Side side, const std::string& server_name = {});
    ~Tls();
    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;

    /// Takes bytes of the peer, split anywhere. Then plain() has what they contain, and sealed() may have an answer,
    /// also after a failure. After an end or a failure they are ignored.
    State feed(std::string_view sealed);
    /// What the last feed() has opened, also before the place at which it failed. Valid until the next feed() of any
    /// engine in this thread.
    [[nodiscard]] std::string_view plain() const;
    /// Seals up to `most` bytes into sealed(), and returns how many. 0 until the handshake is over.
    std::size_t write(std::span<const iovec> parts, std::size_t most);
    /// Seals the end in order.
    void end();
    /// Bytes for the peer; the caller removes those that it has sent.
    [[nodiscard]] std::string& sealed() { return sealed_; }

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] Failure why() const { return why_; }
    /// For messages, as "certificate verify failed: self-signed certificate"; empty: no failure.
    [[nodiscard]] const std::string& why_text() const { return why_text_; }
    /// An estimate in bytes, for budgets: a handshake takes three times what an open connection does.
    [[nodiscard]] std::size_t memory() const;

private:
    friend struct TlsCallbacks;
    void shake_hands();
    void read_all();
    void fail(int result);
    void fail_with(Failure why, std::string text);

    TlsContextPtr context_;
    ssl_st* ssl_;
    std::string_view incoming_;  ///< of the present feed()
    std::string sealed_;
    State state_ = State::handshake;
    Failure why_ = Failure::none;
    std::string why_text_;
    int alert_ = -1;      ///< that the peer has sent
    int messages_ = 0;    ///< of the handshake protocol, received since the connection is open
    bool ended_ = false;  ///< end() was called
};

}  // namespace dlaunch::auth
