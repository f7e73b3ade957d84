#include "rendezvous/net/probe.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rendezvous/base/connect.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/refusal.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

using Kind = Answer::Kind;
using Received = net::Stream::Received::Kind;

Answer failed(int error) {
    return {error == ECONNREFUSED ? Kind::closed_port : Kind::unreachable, std::strerror(error)};
}

/// Sends as much of `request` as the stream takes now; 0 or an errno.
int send_some(net::Stream& stream, std::string& request) {
    const auto sent = stream.is_open() ? stream.send(request) : stream.flush();
    request.erase(0, sent.bytes);
    return sent.error;
}

Answer failed_handshake(const net::Stream& stream) {
    const Refusal refusal = refusal_of(stream);
    if (refusal.text.empty()) return {Kind::unreachable, "it has closed the connection"};
    return {refusal.by_coordinator ? Kind::refused : Kind::foreign_service, refusal.text};
}

/// Sends the request, and reads until the first message identifies the peer. The input ends at `insist`.
Answer ask(net::Stream& stream, std::string request, Time insist, Time end) {
    wire::FrameReader reader;
    std::string first;
    for (std::array<char, 4096> bytes;;) {
        if (const int error = send_some(stream, request); error != 0) return failed(error);
        const bool has_more = stream.has_unsent() || (stream.is_open() && !request.empty());
        const auto events = static_cast<short>(has_more ? POLLIN | POLLOUT : POLLIN);
        if (insist < end && !base::await_ready(stream.fd(), events, insist)) {
            shutdown(stream.fd(), SHUT_WR);
            insist = end;
        }
        if (!base::await_ready(stream.fd(), events, end))
            return {Kind::silent, "it accepts connections and sends nothing"};
        const bool was_open = stream.is_open();
        const auto received = stream.receive(bytes);
        if (received.kind == Received::nothing) continue;
        if (received.kind == Received::failed && !was_open) return failed_handshake(stream);
        if (received.kind != Received::bytes)
            return {Kind::foreign_service, "it closes the connection without sending a byte"};
        first.append(received.bytes);
        reader.feed(received.bytes);
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
             Milliseconds patience, const auth::TlsContextPtr& tls, bool insists) {
    const Time end = std::chrono::steady_clock::now() + patience;
    const auto there = socket_address(address, port);
    if (!there) return {Kind::unreachable, there.error().text};
    base::UniqueFd socket;
    const auto* to = reinterpret_cast<const sockaddr*>(&there->storage);
    if (const int error = base::connect_by(socket, to, there->size, end); error != 0) return failed(error);
    const std::string request =
        std::string(wire::kGreeting) + wire::encode(Hello{version, job_id, 1}) + wire::encode(Beat{{}, 1});
    net::Stream stream(std::move(socket), tls ? std::make_unique<auth::Tls>(tls, auth::Tls::Side::client) : nullptr);
    return ask(stream, request, insists ? end - patience / 2 : end, end);
}

}  // namespace dlaunch::rendezvous
