#include "launcher/start/front_search.hpp"

#include <fcntl.h>
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
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/receive.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;
using base::UniqueFd;

constexpr std::size_t kFrameHead = 5;

struct Dial {
    std::string address;  ///< without the port
    UniqueFd socket;
    bool is_connected = false;
    std::string problem;
};

void begin(Dial& dial, const rendezvous::Endpoint& place) {
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
        dial.socket = std::move(made);
}

/// The socket is writable for the first time.
void greet(Dial& dial, const std::string& hello) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(dial.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    const auto length = static_cast<ssize_t>(hello.size());
    if (error == 0 && send(dial.socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL) == length) {
        dial.is_connected = true;
        return;
    }
    dial.problem = fmt::format("{}: {}", dial.address, std::strerror(error ? error : errno));
    dial.socket.reset();
}

/// True: the front end has sent its welcome.
bool is_welcome(Dial& dial) {
    std::array<char, kFrameHead> head{};
    const ssize_t got = recv(dial.socket.get(), head.data(), head.size(), MSG_PEEK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    const std::string expected = encode(FrameKind::welcome);
    if (got > 0 && std::string_view(head.data(), static_cast<std::size_t>(got)) !=
                       expected.substr(0, static_cast<std::size_t>(got)))
        dial.problem = dial.address + ": another service listens there";
    else if (got <= 0)
        dial.problem = dial.address + ": it has closed the connection";
    if (!dial.problem.empty()) dial.socket.reset();
    if (got < static_cast<ssize_t>(kFrameHead) || !dial.socket) return false;
    return recv(dial.socket.get(), head.data(), head.size(), 0) == got;
}

/// Reads end after kLease without a byte.
void make_blocking(int socket) {
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
    const timeval patience{std::chrono::duration_cast<std::chrono::seconds>(kLease).count(), 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

}  // namespace

Result<FrontConnection> find_front(const std::vector<rendezvous::Endpoint>& places, const NodeHello& hello,
                                   base::Time deadline) {
    std::vector<Dial> dials(places.size());
    for (std::size_t at = 0; at < dials.size(); ++at) begin(dials[at], places[at]);
    const std::string greeting = encode(hello);
    for (;;) {
        std::vector<pollfd> what;
        for (const Dial& dial : dials)
            what.push_back({dial.socket.get(), static_cast<short>(dial.is_connected ? POLLIN : POLLOUT), 0});
        const bool any = std::ranges::any_of(dials, [](const Dial& dial) { return static_cast<bool>(dial.socket); });
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - base::Clock::now()).count();
        if (!any || left <= 0) break;
        poll(what.data(), what.size(), static_cast<int>(std::min<std::int64_t>(left, 60'000)));
        for (std::size_t at = 0; at < dials.size(); ++at) {
            if (what[at].revents == 0 || !dials[at].socket) continue;
            if (!dials[at].is_connected) {
                greet(dials[at], greeting);
            } else if (is_welcome(dials[at])) {
                make_blocking(dials[at].socket.get());
                return FrontConnection{std::move(dials[at].socket), dials[at].address};
            }
        }
    }
    std::vector<std::string> problems;
    for (const Dial& dial : dials)
        problems.push_back(dial.problem.empty() ? dial.address + ": no answer" : dial.problem);
    return Error{fmt::format("the front end cannot be reached: {}", fmt::join(problems, "; ")),
                 exit_status::kCoordinatorLost};
}

Result<NodeOrder> await_order(int socket) {
    const Error gone{"the front end has ended", exit_status::kCoordinatorLost};
    base::Time heard_at = base::Clock::now();
    while (base::Clock::now() - heard_at < kLease) {
        pollfd what{socket, POLLIN, 0};
        if (poll(&what, 1, static_cast<int>(kBeatEvery.count())) <= 0) {
            const std::string beat = encode(FrameKind::beat);
            if (send(socket, beat.data(), beat.size(), MSG_NOSIGNAL) < 0) return gone;
            continue;
        }
        std::array<unsigned char, kFrameHead> head{};
        if (!base::receive_all(socket, head.data(), head.size())) return gone;
        std::size_t size = 0;
        for (std::size_t byte = 0; byte < 4; ++byte) size |= std::size_t{head[1 + byte]} << (8 * byte);
        if (size > kMostFrame) return gone;
        std::string payload(size, '\0');
        if (!base::receive_all(socket, payload.data(), size)) return gone;
        heard_at = base::Clock::now();
        if (static_cast<FrameKind>(head[0]) != FrameKind::begin) continue;
        auto order = decode_order(payload);
        if (!order) return Error{"the front end's order cannot be read: its version differs", exit_status::kRefused};
        return std::move(*order);
    }
    return gone;
}

}  // namespace dlaunch::launcher
