#include "rendezvous/store/relay/trunk_link.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rendezvous/net/addresses.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(20), kLongestPause = std::chrono::milliseconds(500);
constexpr auto kOneAttempt = std::chrono::seconds(2);
constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kMostPayload = wire::kMostPiece + 8;

}  // namespace

TrunkLink::TrunkLink(base::Loop& loop, TrunkTarget target, Observer observer)
    : loop_(loop), target_(std::move(target)), observer_(std::move(observer)) {}

void TrunkLink::open() {
    if (is_open_ || std::exchange(is_opening_, true)) return;
    patience_ends_ = base::Clock::now() + target_.patience;
    pause_ = kFirstPause;
    attempt();
}

void TrunkLink::attempt() {
    again_ = {};
    if (rendezvous::is_numeric(target_.host)) return dial(target_.host);
    look_up_ = base::Background(loop_, [this, host = target_.host]() -> std::function<void()> {
        return [this, found = rendezvous::addresses_of(host)] {
            look_up_ = {};
            if (!found) return fail(found.error().text);
            found->empty() ? fail("the name has no address") : dial(found->front());
        };
    });
}

void TrunkLink::dial(const std::string& address) {
    const auto place = rendezvous::socket_address(address, target_.port);
    if (!place) return fail(place.error().text);
    base::UniqueFd socket(::socket(place->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return fail(std::strerror(errno));
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place->storage), place->size) != 0 &&
        errno != EINPROGRESS)
        return fail(std::strerror(errno));
    stream_.emplace(std::move(socket),
                    target_.tls ? std::make_unique<auth::Tls>(target_.tls, auth::Tls::Side::client) : nullptr);
    writable_ = loop_.writable(stream_->fd(), [this] { on_connected(); });
    limit_ = loop_.after(kOneAttempt, [this] { fail("no answer"); });
}

void TrunkLink::on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(stream_->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(std::strerror(error));
    writable_ = {};
    readable_ = loop_.readable(stream_->fd(), [this] { on_readable(); });
    stream_->is_open() ? begin() : flush();
}

void TrunkLink::begin() {
    limit_ = {};
    is_opening_ = false;
    is_open_ = true;
    frames_.emplace(kMostPayload);
    unsent_ = wire::kGreeting;
    wire::put_hello(unsent_, target_.key);
    flush();
    if (is_open_) observer_.opened();
}

void TrunkLink::send(std::string frames) {
    if (unsent_.empty())
        unsent_ = std::move(frames);
    else
        unsent_ += frames;
    if (!writable_) flush();
}

/// The loop allows one Watch for a descriptor, and readable_ has it: a duplicate waits for room.
void TrunkLink::flush() {
    while ((unsent() > 0 && stream_->is_open()) || stream_->has_unsent()) {
        const auto sent = stream_->send(std::string_view(unsent_).substr(sent_));
        sent_ += sent.bytes;
        if (sent.error != 0) break;  // on_readable() finds the end
        if (!sent.blocked) continue;
        if (writable_) return;
        second_ = base::UniqueFd(fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0));
        writable_ = loop_.writable(second_.get(), [this] { flush(); });
        return;
    }
    writable_ = {};
    second_.reset();
    unsent_.clear();
    sent_ = 0;
    if (is_open_ && observer_.drained) observer_.drained();
}

void TrunkLink::on_readable() {
    std::array<char, kReadBytes> bytes;
    const auto received = stream_->receive(bytes);
    using Kind = net::Stream::Received::Kind;
    if (received.kind == Kind::end || received.kind == Kind::failed) {
        if (is_open_) return end();
        return fail(stream_->why() == auth::Tls::Failure::none ? std::strerror(received.error)
                                                               : "its job has another token");
    }
    if (!is_open_ && stream_->is_open()) begin();
    if (is_open_ && received.kind == Kind::bytes) take_frames(received.bytes);
    if (stream_ && stream_->has_unsent() && !writable_) flush();
}

void TrunkLink::take_frames(std::string_view bytes) {
    frames_->feed(bytes);
    for (wire::Frame frame;;) {
        const auto outcome = frames_->next(frame);
        if (outcome == wire::Frames::Outcome::more) break;
        const auto decoded =
            outcome == wire::Frames::Outcome::frame ? wire::decode_trunk(frame.number, frame.payload) : std::nullopt;
        if (!decoded || !observer_.received(*decoded)) return end();
    }
    frames_->keep();
}

void TrunkLink::drop() {
    readable_ = {};
    writable_ = {};
    limit_ = {};
    again_ = {};
    second_.reset();
    stream_.reset();
    frames_.reset();
    unsent_.clear();
    sent_ = 0;
    is_open_ = false;
}

void TrunkLink::fail(const std::string& why) {
    drop();
    if (base::Clock::now() >= patience_ends_) {
        is_opening_ = false;
        return observer_.lost(why);
    }
    again_ = loop_.after(pause_, [this] { attempt(); });
    pause_ = std::min<base::Duration>(2 * pause_, kLongestPause);
}

void TrunkLink::end() {
    drop();
    observer_.lost({});
}

}  // namespace dlaunch::store
