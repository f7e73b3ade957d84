// Handshakes. A stranger can replay the first message of a member, and the answer to it costs 44 KiB and 0.1 ms, so
// both the handshakes in progress and those that one round begins are limited. Nothing is computed before the message
// is complete, and a client without the key is refused while it is read.

#include <utility>

#include "rendezvous/auth/client_hello.hpp"
#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {

void Server::Impl::read_first(Client& client, std::string_view bytes) {
    const bool is_tls = !client.hello.empty() || bytes.front() == auth::kHandshakeRecord;
    if (is_tls && hooks.tls) return read_hello(client, bytes);
    client.is_new = false;
    if (is_tls && hooks.stranger) return refuse(client, Stranger::with_token);
    take(client, {net::Stream::Received::Kind::bytes, bytes, 0});
}

void Server::Impl::read_hello(Client& client, std::string_view bytes) {
    client.hello.append(bytes);
    const auto state = auth::client_hello(client.hello);
    if (state == auth::ClientHello::none) return kill(client);
    count(client);
    if (state == auth::ClientHello::partial) return;
    if (handshakes < limits.handshakes) return shake_hands(client);
    client.waits = true;
    waiting.push_back(client.id);
    renew_watch(client);
}

void Server::Impl::shake_hands(Client& client) {
    client.is_new = false;
    client.shakes_hands = true;
    ++handshakes;
    ++hellos;
    handshake_times.start(slot_of(client.id), base::Clock::now());
    arm_timer();
    const std::string hello = std::exchange(client.hello, {});
    count(client);
    take(client, client.stream.secure(std::make_unique<auth::Tls>(hooks.tls, auth::Tls::Side::server), hello));
}

/// The stream has received something: the handshake may be over.
void Server::Impl::end_handshake(Client& client) {
    using Failure = auth::Tls::Failure;
    const Failure why = client.stream.why();
    if (!client.stream.is_open() && why == Failure::none) return;
    client.shakes_hands = false;
    --handshakes;
    handshake_times.stop(slot_of(client.id));
    if (hooks.stranger && (why == Failure::other_key || why == Failure::no_key))
        static_cast<void>(hooks.stranger(client.address, Stranger::of_another_token));
}

/// Begins handshakes that had to wait.
void Server::Impl::next_handshakes() {
    if (!turning) hellos = 0;
    while (has_next_handshake() && hellos < kHellos) {
        Client* client = find(waiting.front());
        waiting.pop_front();
        if (!client) continue;
        client->waits = false;
        shake_hands(*client);
        if (!client->dead) renew_watch(*client);
    }
    if (has_next_handshake() && !turning) turn_again();
}

void Server::Impl::refuse(Client& client, Stranger kind) {
    if (hooks.stranger) client.output.raw(hooks.stranger(client.address, kind));
    end(client);
}

}  // namespace dlaunch::store
