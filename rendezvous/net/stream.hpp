#pragma once
/// The bytes of one connection, plain or inside TLS. Server, member, probe and front end send and receive through it,
/// so that none of them knows how the bytes travel. No loop: the owner waits for fd().
///
/// A stream inside TLS is open when its handshake is over; receive() drives it. Until then send() takes nothing.

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rendezvous/auth/tls.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::net {

/// Owns a non-blocking stream socket.
class Stream {
public:
    /// Without `tls` the stream is plain.
    explicit Stream(base::UniqueFd socket, std::unique_ptr<auth::Tls> tls = nullptr)
        : socket_(std::move(socket)), tls_(std::move(tls)) {}

    struct Received {
        enum class Kind : std::uint8_t {
            bytes,
            nothing,  ///< there is nothing to read now
            end,  ///< the peer has ended the stream in order; inside TLS not by FIN alone, which any host on the path
                  ///< can forge
            failed,  ///< with `error`
        };
        Kind kind = Kind::nothing;
        std::string_view bytes;  ///< valid until `buffer` is used again, or until the next call for any stream
        int error = 0;           ///< an errno
    };
    /// Reads once. All streams of a thread may share one buffer.
    [[nodiscard]] Received receive(std::span<char> buffer);
    /// Puts a plain stream inside TLS, as its server. `first`: what has been received so far. From now on bytes that
    /// are not sealed do not fail the stream before the peer's FIN, or before 64 KiB of them: see trailing().
    [[nodiscard]] Received secure(std::unique_ptr<auth::Tls> tls, std::string_view first);

    struct Sent {
        std::size_t bytes = 0;  ///< taken from the parts
        bool blocked = false;   ///< the socket has no room: try again when it is writable
        int error = 0;          ///< an errno; receive() will tell the same end
    };
    /// Sends the start of the parts, as much as one call takes.
    [[nodiscard]] Sent send(std::span<const iovec> parts);
    [[nodiscard]] Sent send(std::string_view bytes);
    /// Sends bytes of TLS that wait for room, or open the handshake.
    [[nodiscard]] Sent flush();

    [[nodiscard]] bool is_secure() const { return tls_ != nullptr; }
    [[nodiscard]] bool is_open() const {
        return !tls_ || tls_->state() == auth::Tls::State::open || tls_->state() == auth::Tls::State::ended;
    }
    /// Whether flush() has something to send.
    [[nodiscard]] bool has_unsent() const { return tls_ && !tls_->sealed().empty(); }
    /// Why the handshake has failed.
    [[nodiscard]] auth::Tls::Failure why() const { return tls_ ? tls_->why() : auth::Tls::Failure::none; }
    /// Whether receive() has found a FIN, by which the kernel of a peer ends the connections of a dead process. Inside
    /// TLS it is for texts only, because any host on the path can forge a FIN.
    [[nodiscard]] bool has_fin() const { return has_fin_; }
    /// The peer's first bytes, while a handshake lasts and if it fails: the peer may not use TLS.
    [[nodiscard]] const std::string& first_bytes() const { return first_bytes_; }

    /// The last bytes of a secured stream that has failed, as they came: the guard of a dead peer cannot seal its
    /// good-bye, and the peer may have died within a message.
    [[nodiscard]] std::string_view trailing() const { return trailing_; }
    static constexpr std::size_t kTrailing = 32;

    /// Ends in order: sends FIN, inside TLS its end as well. Drops unread input first, because with unread input the
    /// kernel would send RST at the close, which may destroy the peer's last bytes.
    void end();
    /// Makes the close send RST.
    void reset();

    [[nodiscard]] int fd() const { return socket_.get(); }

private:
    Received unseal(std::string_view sealed);
    void keep_trailing(std::string_view bytes);

    base::UniqueFd socket_;
    std::unique_ptr<auth::Tls> tls_;
    std::string first_bytes_;
    std::string trailing_;
    bool awaits_fin_ = false;  ///< secure() was called
    bool has_fin_ = false;
    std::size_t unsealed_ = 0;  ///< bytes received after the engine has failed
};

}  // namespace dlaunch::net
