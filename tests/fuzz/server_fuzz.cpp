// The server with its sockets, deadlines and limits: after any bytes of several clients, in pieces and at once, and any
// kind of close, it still answers a new client. Limits are small, so that inputs reach them.
//
// The input is cut into pieces of `u8 what, u8 size` and as many bytes. The low bits of `what` are the client that
// sends them; 4: it closes first; 8: it first reads all pending bytes; 16: the store is cleared; 32: the bytes are sent
// 64 times; 64: 4096 times. Bit 128 of the first byte selects a server with deadlines that no input reaches.

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/store/server/server.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace base = dlaunch::base;
namespace store = dlaunch::store;
namespace wire = dlaunch::wire;

namespace {

constexpr std::size_t kClients = 4;

struct Fixture {
    explicit Fixture(base::Duration patience) {
        store::ServerHooks hooks;
        hooks.extension = [this](store::ConnectionId from, std::uint8_t number, std::string_view payload) {
            if (number == 0x41) server->admit(from);
            if (number == 0x42) server->close(from);
            if (number > 0x42) server->send(from, payload);
        };
        store::ServerLimits limits;
        limits.half_open = 3;
        limits.half_open_time = limits.hurried_half_open_time = limits.message_time = patience;
        limits.unread_bytes = 1000;
        limits.held_bytes = 5000;
        limits.pending_bytes = 2000;
        limits.retired_bytes = 10'000;
        auto listening = store::Server::listen(loop, "127.0.0.1", 0, std::move(hooks), limits);
        if (!listening) std::abort();
        server = std::move(*listening);
    }
    void serve() {
        for (int turn = 0; turn < 4; ++turn) loop.context().poll();
    }

    base::Loop loop;
    std::unique_ptr<store::Server> server;
};

struct Client {
    explicit Client(int port) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const linger reset{1, 0};  // thousands of inputs must not leave thousands of ports in TIME_WAIT
        setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        static_cast<void>(connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to));
        send(wire::kGreeting);
    }
    void send(std::string_view bytes) {
        static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    std::size_t read() {
        std::array<char, 1 << 16> bytes;
        const auto count = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        return count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    base::UniqueFd socket;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static Fixture hasty(std::chrono::milliseconds(1)), patient(std::chrono::minutes(10));
    Fixture& fixture = size > 0 && data[0] & 128 ? patient : hasty;
    std::array<std::unique_ptr<Client>, kClients> clients;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    while (rest.size() > 2) {
        const auto what = static_cast<std::uint8_t>(rest[0]), length = static_cast<std::uint8_t>(rest[1]);
        const std::string_view bytes = rest.substr(2, length);
        rest.remove_prefix(2 + bytes.size());
        auto& client = clients[what % kClients];
        if (what & 4) client.reset();
        if (!client) client = std::make_unique<Client>(fixture.server->port());
        if (what & 8) client->read();
        if (what & 16) fixture.server->clear();
        for (int count = what & 64 ? 64 : 1; count > 0; --count) {
            for (int times = what & (32 | 64) ? 64 : 1; times > 0; --times) client->send(bytes);
            fixture.serve();
        }
    }
    for (auto& client : clients) client.reset();
    // On a busy machine a client's first millisecond may pass unserved; one of the next tries succeeds.
    const auto end = base::Clock::now() + std::chrono::seconds(10);
    for (bool is_answered = false; !is_answered;) {
        if (base::Clock::now() > end) std::abort();
        Client last(fixture.server->port());
        last.send(std::string_view("\x0D\x01\x02\x03\x04", 5));  // PING
        for (int turn = 0; turn < 10 && !is_answered; ++turn) {
            fixture.serve();
            is_answered = last.read() >= 4;
        }
    }
    return 0;
}
