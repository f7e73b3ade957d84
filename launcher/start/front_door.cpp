#include "launcher/start/front_door.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "rendezvous/auth/client_hello.hpp"
#include "rendezvous/base/address.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using Received = net::Stream::Received;

constexpr std::size_t kMostStrangers = 1024;
constexpr std::size_t kMostHandshakes = 256;  // in progress, at 44 KiB each
constexpr auto kHelloBy = 10s;                // from the connection, or the start of its handshake
constexpr auto kHandshakeBy = 3s;
constexpr int kAtOnce = 64;  // connections accepted in one turn of the loop

}  // namespace

FrontDoor::FrontDoor(base::Loop& loop, const std::vector<store::Listener>& listeners, Admission admission,
                     Handlers handlers)
    : loop_(loop), listeners_(listeners), admission_(std::move(admission)), handlers_(std::move(handlers)) {
    accept();
}

/// At the limit new connections wait in the kernel's backlog, unwatched: the loop would spin.
void FrontDoor::accept() {
    const bool has_room = strangers_.size() < kMostStrangers;
    if (has_room == !dials_.empty()) return;
    dials_.clear();
    if (!has_room) return;
    for (const store::Listener& listener : listeners_)
        dials_.push_back(loop_.readable(listener.socket.get(), [this, &listener] { on_dial(listener); }));
}

void FrontDoor::on_dial(const store::Listener& listener) {
    for (int count = 0; count < kAtOnce && strangers_.size() < kMostStrangers; ++count) {
        sockaddr_storage from{};
        socklen_t size = sizeof from;
        base::UniqueFd socket(
            accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) break;
        const int yes = 1;
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        const std::uint64_t number = ++next_stranger_;
        Stranger& stranger = strangers_[number];
        stranger.stream = std::make_shared<net::Stream>(std::move(socket));
        stranger.address = base::address_text(from);
        stranger.deadline = loop_.after(kHelloBy, [this, number] { static_cast<void>(take(number)); });
        if (admission_.tls)
            stranger.readable = loop_.readable(stranger.stream->fd(), [this, number] { on_first_bytes(number); });
        else
            open(number, {});
    }
    accept();
}

/// Nothing is computed for a client before its first record is complete, and then for a limited number of clients.
void FrontDoor::on_first_bytes(std::uint64_t number) {
    Stranger& stranger = strangers_.at(number);
    std::array<char, auth::kMostClientHello> bytes;
    const Received received = stranger.stream->receive(bytes);
    if (received.kind == Received::Kind::nothing) return;
    stranger.first_bytes.append(received.bytes);
    const auto state = auth::client_hello(stranger.first_bytes);
    if (received.kind != Received::Kind::bytes || state == auth::ClientHello::none) return void(take(number));
    if (state == auth::ClientHello::partial) return;
    stranger.readable = {};
    waiting_.push_back(number);
    next_handshakes();
}

void FrontDoor::next_handshakes() {
    if (std::exchange(is_starting_, true)) return;
    while (!waiting_.empty() && handshakes_ < kMostHandshakes) {
        const std::uint64_t number = waiting_.front();
        waiting_.pop_front();
        if (strangers_.contains(number)) shake_hands(number);
    }
    is_starting_ = false;
}

void FrontDoor::shake_hands(std::uint64_t number) {
    Stranger& stranger = strangers_.at(number);
    stranger.shakes_hands = true;
    ++handshakes_;
    stranger.deadline = loop_.after(kHandshakeBy, [this, number] { static_cast<void>(take(number)); });
    stranger.readable = loop_.readable(stranger.stream->fd(), [this, number] {
        std::array<char, kMostHello> bytes;
        on_handshake(number, strangers_.at(number).stream->receive(bytes));
    });
    on_handshake(number, stranger.stream->secure(std::make_unique<auth::Tls>(admission_.tls, auth::Tls::Side::server),
                                                 std::exchange(stranger.first_bytes, {})));
}

void FrontDoor::on_handshake(std::uint64_t number, const Received& received) {
    using Failure = auth::Tls::Failure;
    const Stranger& stranger = strangers_.at(number);
    if (stranger.stream->is_open() && received.kind != Received::Kind::end) return open(number, received.bytes);
    if (received.kind == Received::Kind::nothing) return;
    const Stranger refused = take(number);
    const Failure why = refused.stream->why();
    if (why != Failure::other_key && why != Failure::no_key) return;
    const auto kind = store::Stranger::of_another_token;
    if (const std::string line = lines_.line(base::Clock::now(), refused.address, kind); !line.empty())
        handlers_.refused(line);
}

/// `bytes`: what the agent has sent so far.
void FrontDoor::open(std::uint64_t number, std::string_view bytes) {
    Stranger& stranger = strangers_.at(number);
    stranger.readable = {};
    if (std::exchange(stranger.shakes_hands, false)) --handshakes_;
    auto frames = std::make_shared<wire::Frames>(kMostHello);
    frames->feed(bytes);
    frames->keep();
    stranger.socket = std::make_unique<FrameSocket>(
        loop_, stranger.stream, std::move(frames),
        FrameSocket::Handlers{
            .frame = [this, number](FrameKind kind, std::string_view payload) { on_hello(number, kind, payload); },
            .closed = [this, number](const std::string&) { static_cast<void>(take(number)); }});
    next_handshakes();
}

void FrontDoor::on_hello(std::uint64_t number, FrameKind kind, std::string_view payload) {
    Stranger stranger = take(number);
    const auto hello = kind == FrameKind::hello ? decode_hello(payload) : std::nullopt;
    if (!hello || (!admission_.tls && hello->key != admission_.key)) return;
    stranger.socket->handle({.frame = [](FrameKind, std::string_view) {}, .closed = [](const std::string&) {}});
    handlers_.agent(*hello, std::move(stranger.socket));
}

/// The caller owns the connection, and closes it unless it is an agent's.
FrontDoor::Stranger FrontDoor::take(std::uint64_t number) {
    Stranger stranger = std::move(strangers_.extract(number).mapped());
    stranger.readable = {};
    if (stranger.shakes_hands) --handshakes_;
    next_handshakes();
    accept();
    return stranger;
}

}  // namespace dlaunch::launcher
