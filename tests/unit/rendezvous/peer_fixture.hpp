#pragma once
/// The peer of a connection, used by a test in a thread of its own while the loop runs.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch {

/// A blocking socket; every call ends within 30 s.
class Peer {
public:
    /// Connects to a port of this host.
    explicit Peer(int port, in_addr_t host = INADDR_LOOPBACK)
        : Peer(base::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(host);
        EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    /// Takes an accepted socket.
    explicit Peer(base::UniqueFd socket) : socket_(std::move(socket)) {
        const timeval patience{30, 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    void send(const std::string& bytes) {
        EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    /// False: the connection is closed.
    bool try_send(const std::string& bytes) {
        return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    }
    /// Receives all bytes that arrive within a tenth of a second.
    std::string receive_now(std::size_t size) {
        timeval patience{0, 100'000};
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        std::string bytes = receive(size);
        patience = {30, 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        return bytes;
    }
    std::string receive(std::size_t size) {
        std::string bytes;
        receive(size, bytes);
        return bytes;
    }
    /// Receives into a caller's buffer, because the address sanitizer keeps freed memory.
    void receive(std::size_t size, std::string& bytes) {
        bytes.resize(size);
        const ssize_t count = recv(socket_.get(), bytes.data(), size, MSG_WAITALL);
        bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    /// Waits until the connection is closed, by FIN or RST.
    bool closed() {
        errno = 0;
        return receive(1).empty() && errno != EAGAIN;
    }
    bool closed_in_order() { return closed() && errno == 0; }
    void leave() { socket_.reset(); }
    /// Closes with RST.
    void break_off() {
        const linger reset{1, 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        leave();
    }

private:
    base::UniqueFd socket_;
};

/// Runs the loop as long as `clients` does, in a thread.
inline void with_clients(base::Loop& loop, const std::function<void()>& clients) {
    std::thread thread([&] {
        clients();
        loop.post([&loop] { loop.stop(); });
    });
    loop.run();
    thread.join();
}

}  // namespace dlaunch
