#include "worker_lib/src/tcp/acceptor.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include <dlaunch/error.hpp>
#include "rendezvous/base/address.hpp"
#include "rendezvous/base/connect.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::worker::tcp {
namespace {

struct Hello {
    std::uint64_t secret;
    std::uint32_t rank;
    Purpose purpose;
};
static_assert(sizeof(Hello) == 16);

/// Time for a connection's hello. It comes with the first packet, and the kernel holds connections back until then.
constexpr std::chrono::seconds kHelloTime{1};
constexpr int kHoldBack_s = 60;

/// Sockets inherit the listener's limit on unacknowledged bytes. Here a peer may compute for hours before it reads.
void let_peers_be_slow(int socket) {
    const unsigned never = 0;
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof never);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

/// Throws Error (backend) for a limit of this process or host, else std::runtime_error.
[[noreturn]] void fail(const std::string& what, int number) {
    const std::string text = fmt::format("{}: {}", what, std::strerror(number));
    if (number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM || number == EADDRNOTAVAIL)
        throw Error(ErrorCode::backend, "tcp: " + text);
    throw std::runtime_error(text);
}

}  // namespace

Acceptor::Acceptor(const std::string& address) : address_(address), secret_(base::random_number()) {
    auto listener = store::open_listener(address, 0);
    if (!listener) throw std::runtime_error(listener.error().text);
    port_ = listener->port;
    listener_ = std::move(listener->socket);
    setsockopt(listener_.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &kHoldBack_s, sizeof kHoldBack_s);
}

std::string Acceptor::invitation() const { return fmt::format("{} {} {}", address_, port_, secret_); }

std::optional<Acceptor::Accepted> Acceptor::accept(int ranks) {
    for (;;) {
        base::UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINVAL)
                return std::nullopt;  // EINVAL: after close()
            fail("accept", errno);
        }
        Hello hello{};
        if (!base::await_ready(socket.get(), POLLIN, after(kHelloTime)) ||
            recv(socket.get(), &hello, sizeof hello, MSG_DONTWAIT) != sizeof hello || hello.secret != secret_ ||
            hello.rank >= static_cast<std::uint32_t>(ranks))
            continue;
        let_peers_be_slow(socket.get());
        return Accepted{static_cast<int>(hello.rank), hello.purpose, std::move(socket)};
    }
}

void Acceptor::close() { shutdown(listener_.get(), SHUT_RDWR); }

base::UniqueFd connect(const std::string& invitation, int rank, Purpose purpose, Time deadline) {
    std::istringstream words(invitation);
    std::string address;
    int port = 0;
    Hello hello{0, static_cast<std::uint32_t>(rank), purpose};
    words >> address >> port >> hello.secret;
    const auto place = rendezvous::socket_address(address, port);
    if (!place) throw std::runtime_error(place.error().text);
    base::UniqueFd socket;
    const int error =
        base::connect_by(socket, reinterpret_cast<const sockaddr*>(&place->storage), place->size, deadline);
    if (error == ETIMEDOUT) return {};
    const std::string endpoint = base::endpoint_text(address, port);
    if (error != 0) fail(endpoint, error);
    let_peers_be_slow(socket.get());
    if (send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) fail(endpoint, errno);
    return socket;
}

}  // namespace dlaunch::worker::tcp
