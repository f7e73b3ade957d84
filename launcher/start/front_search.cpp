#include "launcher/start/front_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "rendezvous/base/connect.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/refusal.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;
using base::UniqueFd;
using Received = net::Stream::Received::Kind;

constexpr std::size_t kReadBytes = 64 << 10;
constexpr auto kFrontIsGone = "the front end has ended";

struct Dial {
    std::string address;  ///< without the port
    std::shared_ptr<net::Stream> stream;
    std::shared_ptr<wire::Frames> frames = std::make_shared<wire::Frames>(kMostFrame);
    bool is_connected = false;
    bool is_refused = false;  ///< for its token
    std::string problem;
    std::string unsent;  ///< of the hello

    [[nodiscard]] short awaited() const {
        if (!is_connected) return POLLOUT;
        return stream->has_unsent() || (stream->is_open() && !unsent.empty()) ? POLLIN | POLLOUT : POLLIN;
    }
    void fail(std::string_view why) {
        problem = fmt::format("{}: {}", address, why);
        stream.reset();
    }
};

void begin(Dial& dial, const rendezvous::Endpoint& place, const auth::TlsContextPtr& tls) {
    dial.address = place.host;
    const auto address = rendezvous::socket_address(place.host, place.port);
    if (!address) return void(dial.problem = fmt::format("{}: {}", place.text(), address.error().text));
    UniqueFd made(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int done = ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->size);
    if (done != 0 && errno != EINPROGRESS)
        dial.problem = fmt::format("{}: {}", place.text(), std::strerror(errno));
    else
        dial.stream = std::make_shared<net::Stream>(
            std::move(made), tls ? std::make_unique<auth::Tls>(tls, auth::Tls::Side::client) : nullptr);
}

/// The socket is writable.
void send_some(Dial& dial) {
    if (!dial.is_connected) {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(dial.stream->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0) return dial.fail(std::strerror(error));
        dial.is_connected = true;
    }
    const auto sent = dial.stream->send(dial.unsent);
    dial.unsent.erase(0, sent.bytes);
    if (sent.error != 0) dial.fail(std::strerror(sent.error));
}

void end_failed(Dial& dial, bool was_open) {
    const auto refusal = was_open ? rendezvous::Refusal() : rendezvous::refusal_of(*dial.stream);
    dial.is_refused = refusal.by_coordinator;
    dial.fail(refusal.text.empty() ? "it has closed the connection" : refusal.text);
}

/// True: the front end has sent its welcome.
bool is_welcome(Dial& dial) {
    std::array<char, kReadBytes> bytes;
    const bool was_open = dial.stream->is_open();
    const auto received = dial.stream->receive(bytes);
    if (received.kind == Received::nothing) return false;
    if (received.kind != Received::bytes) {
        end_failed(dial, was_open);
        return false;
    }
    dial.frames->feed(received.bytes);
    wire::Frame frame;
    const auto outcome = dial.frames->next(frame);
    const bool is_frame = outcome == wire::Frames::Outcome::frame;
    const bool is_welcome = is_frame && static_cast<FrameKind>(frame.number) == FrameKind::welcome;
    dial.frames->keep();
    if (outcome == wire::Frames::Outcome::refused || (is_frame && !is_welcome))
        dial.fail("another service listens there");
    return is_welcome;
}

/// None: no frame that has arrived is the order.
Result<std::optional<NodeOrder>> take_order(wire::Frames& frames) {
    wire::Frame frame;
    for (;;) {
        const auto outcome = frames.next(frame);
        if (outcome == wire::Frames::Outcome::more) return std::optional<NodeOrder>();
        if (outcome == wire::Frames::Outcome::refused) return Error{kFrontIsGone, exit_status::kCoordinatorLost};
        if (static_cast<FrameKind>(frame.number) != FrameKind::begin) continue;
        auto order = decode_order(frame.payload);
        if (!order) return Error{"the front end's order cannot be read: its version differs", exit_status::kRefused};
        return order;
    }
}

}  // namespace

Result<FrontConnection> find_front(const std::vector<rendezvous::Endpoint>& places, const NodeHello& hello,
                                   const auth::TlsContextPtr& tls, base::Time deadline) {
    std::vector<Dial> dials(places.size());
    for (std::size_t at = 0; at < dials.size(); ++at) {
        begin(dials[at], places[at], tls);
        dials[at].unsent = encode(hello);
    }
    for (;;) {
        std::vector<pollfd> what;
        for (const Dial& dial : dials)
            what.push_back({dial.stream ? dial.stream->fd() : -1, dial.stream ? dial.awaited() : short{0}, 0});
        const bool any = std::ranges::any_of(dials, [](const Dial& dial) { return dial.stream != nullptr; });
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
        if (!any || left <= 0) break;
        poll(what.data(), what.size(), static_cast<int>(std::min<std::int64_t>(left, 60'000)));
        for (std::size_t at = 0; at < dials.size(); ++at) {
            Dial& dial = dials[at];
            const bool is_readable = dial.is_connected && (what[at].revents & ~POLLOUT) != 0;
            if (dial.stream && (what[at].revents & POLLOUT || !dial.is_connected) && what[at].revents != 0)
                send_some(dial);
            if (dial.stream && is_readable && is_welcome(dial))
                return FrontConnection{std::move(dial.stream), std::move(dial.frames), dial.address};
        }
    }
    std::vector<std::string> problems;
    for (const Dial& dial : dials)
        problems.push_back(dial.problem.empty() ? dial.address + ": no answer" : dial.problem);
    const bool is_refused = std::ranges::any_of(dials, &Dial::is_refused);
    return Error{fmt::format("the front end cannot be reached: {}", fmt::join(problems, "; ")),
                 is_refused ? exit_status::kRefused : exit_status::kCoordinatorLost};
}

Result<NodeOrder> await_order(const FrontConnection& front) {
    std::array<char, kReadBytes> bytes;
    base::Time heard_at = base::Clock::now(), beat_at = heard_at + kBeatEvery;
    while (base::Clock::now() - heard_at < kLease) {
        auto order = take_order(*front.frames);
        front.frames->keep();
        if (!order) return order.error();
        if (*order) return std::move(**order);
        if (base::Clock::now() >= beat_at) {
            if (front.stream->send(encode(FrameKind::beat)).error != 0) break;
            beat_at = base::Clock::now() + kBeatEvery;
        }
        if (!base::await_ready(front.stream->fd(), POLLIN, beat_at)) continue;
        const auto received = front.stream->receive(bytes);
        if (received.kind == Received::nothing) continue;
        if (received.kind != Received::bytes) break;
        heard_at = base::Clock::now();
        front.frames->feed(received.bytes);
    }
    return Error{kFrontIsGone, exit_status::kCoordinatorLost};
}

void send_last(const FrontConnection& front, const NodeEnd& end) {
    std::array<char, kReadBytes> bytes;
    const std::string frame = encode(end);
    std::string_view left = frame;
    for (base::Time until = base::Clock::now() + kLease;;) {
        if (!left.empty() || front.stream->has_unsent()) {
            const auto sent = front.stream->send(left);
            if (sent.error != 0) return;
            left.remove_prefix(sent.bytes);
        }
        const bool has_unsent = !left.empty() || front.stream->has_unsent();
        const auto events = static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN);
        if (!base::await_ready(front.stream->fd(), events, until)) return;
        const auto received = front.stream->receive(bytes);
        if (received.kind == Received::end || received.kind == Received::failed) return;
        if (received.kind == Received::bytes) until = base::Clock::now() + kLease;
    }
}

}  // namespace dlaunch::launcher
