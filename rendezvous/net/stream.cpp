#include "rendezvous/net/stream.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace dlaunch::net {
namespace {

using Kind = Stream::Received::Kind;
using State = auth::Tls::State;

/// Reads that end() drops, 64 KiB in all: a peer that sends on and on cannot hold the caller.
constexpr int kMostDrained = 4;
constexpr std::size_t kMostSealed = 64 << 10;  // plain bytes that one send() seals
constexpr std::size_t kFirstBytes = 512;
constexpr std::size_t kMostUnsealed = 64 << 10;

Stream::Sent outcome_of(ssize_t count) {
    if (count >= 0) return {static_cast<std::size_t>(count), false, 0};
    if (errno == EINTR) return {};
    return {0, errno == EAGAIN, errno == EAGAIN ? 0 : errno};
}

}  // namespace

Stream::Received Stream::receive(std::span<char> buffer) {
    if (tls_ && tls_->state() == State::ended) return {Kind::end, {}, 0};
    const ssize_t count = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count > 0) {
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
        if (awaits_fin_) keep_trailing(bytes);
        return tls_ ? unseal(bytes) : Received{Kind::bytes, bytes, 0};
    }
    has_fin_ = count == 0;
    if (count == 0) return tls_ ? Received{Kind::failed, {}, ECONNRESET} : Received{Kind::end, {}, 0};
    if (errno == EAGAIN || errno == EINTR) return {};
    return {Kind::failed, {}, errno};
}

Stream::Received Stream::secure(std::unique_ptr<auth::Tls> tls, std::string_view first) {
    tls_ = std::move(tls);
    awaits_fin_ = true;
    return unseal(first);
}

/// Answers of the engine, to a handshake or an attack, leave at once.
Stream::Received Stream::unseal(std::string_view sealed) {
    if (tls_->state() == State::handshake)
        first_bytes_.append(sealed.substr(0, kFirstBytes - std::min(kFirstBytes, first_bytes_.size())));
    const bool was_open = is_open(), had_failed = tls_->state() == State::failed;
    const State state = tls_->feed(sealed);
    if (has_unsent()) static_cast<void>(flush());
    if (had_failed) unsealed_ += sealed.size();
    const auto plain = had_failed ? std::string_view() : tls_->plain();
    if (!plain.empty()) return {Kind::bytes, plain, 0};
    if (state == State::failed) {
        const bool waits = awaits_fin_ && (was_open || had_failed) && unsealed_ < kMostUnsealed;
        return waits ? Received{} : Received{Kind::failed, {}, EPROTO};
    }
    if (state != State::handshake) first_bytes_ = {};
    return state == State::ended ? Received{Kind::end, {}, 0} : Received{};
}

void Stream::keep_trailing(std::string_view bytes) {
    trailing_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTrailing)));
    trailing_.erase(0, trailing_.size() - std::min(trailing_.size(), kTrailing));
}

/// One part is the usual case, and send() is cheaper than sendmsg().
Stream::Sent Stream::send(std::span<const iovec> parts) {
    if (tls_) {
        Sent sent = flush();
        if (sent.blocked || sent.error != 0) return sent;
        const std::size_t sealed = tls_->write(parts, kMostSealed);
        sent = flush();
        sent.bytes = sealed;
        return sent;
    }
    if (parts.size() == 1) return outcome_of(::send(socket_.get(), parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL));
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());  // sendmsg() only reads
    message.msg_iovlen = parts.size();
    return outcome_of(sendmsg(socket_.get(), &message, MSG_NOSIGNAL));
}

Stream::Sent Stream::send(std::string_view bytes) {
    const iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    return send(std::span(&part, 1));
}

Stream::Sent Stream::flush() {
    while (has_unsent()) {
        std::string& sealed = tls_->sealed();
        const Sent sent = outcome_of(::send(socket_.get(), sealed.data(), sealed.size(), MSG_NOSIGNAL));
        sealed.erase(0, sent.bytes);
        if (sent.blocked || sent.error != 0) return {0, sent.blocked, sent.error};
    }
    return {};
}

void Stream::end() {
    if (tls_ && is_open()) {
        tls_->end();
        static_cast<void>(flush());
    }
    std::array<char, 16'384> unread;
    for (int reads = 0; reads < kMostDrained; ++reads)
        if (recv(socket_.get(), unread.data(), unread.size(), MSG_DONTWAIT) <= 0) break;
    shutdown(socket_.get(), SHUT_WR);
}

void Stream::reset() {
    const linger at_once{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace dlaunch::net
