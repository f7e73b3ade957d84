#include "rendezvous/net/probe.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "rendezvous/base/connect.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

using Kind = Answer::Kind;

Answer failed(int error) {
    return {error == ECONNREFUSED ? Kind::closed_port : Kind::unreachable, std::strerror(error)};
}

/// Reads until the first message identifies the peer.
Answer listen(int socket, Time end) {
    wire::FrameReader reader;
    std::string first;
    for (std::array<char, 4096> bytes;;) {
        if (!base::await_ready(socket, POLLIN, end)) return {Kind::silent, "it accepts connections and sends nothing"};
        const ssize_t count = recv(socket, bytes.data(), bytes.size(), 0);
        if (count <= 0) return {Kind::foreign_service, "it closes the connection without sending a byte"};
        first.append(bytes.data(), static_cast<std::size_t>(count));
        reader.feed({bytes.data(), static_cast<std::size_t>(count)});
        Message message;
        const auto outcome = reader.next(message);
        if (outcome == wire::FrameReader::Outcome::more) continue;
        if (outcome == wire::FrameReader::Outcome::refused)
            return {Kind::foreign_service, describe_foreign_service(first)};
        if (const auto* refused = std::get_if<Refused>(&message)) return {Kind::refused, refused->reason};
        return {Kind::coordinator, {}};
    }
}

}  // namespace

std::string describe_foreign_service(const std::string& first_bytes) {
    constexpr std::size_t kShown = 40;
    std::string line = first_bytes.substr(0, std::min(first_bytes.find_first_of("\r\n"), kShown));
    const bool readable =
        !line.empty() && std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; });
    return readable ? fmt::format("it sends \"{}\"", line) : "it speaks another protocol";
}

Answer probe(const std::string& address, int port, const std::string& version, const std::string& job_id,
             Milliseconds patience) {
    const Time end = std::chrono::steady_clock::now() + patience;
    const auto there = socket_address(address, port);
    if (!there) return {Kind::unreachable, there.error().text};
    base::UniqueFd socket;
    const auto* to = reinterpret_cast<const sockaddr*>(&there->storage);
    if (const int error = base::connect_by(socket, to, there->size, end); error != 0) return failed(error);
    const std::string request =
        std::string(wire::kGreeting) + wire::encode(Hello{version, job_id, 1}) + wire::encode(Beat{{}, 1});
    if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return failed(errno);
    return listen(socket.get(), end);
}

}  // namespace dlaunch::rendezvous
