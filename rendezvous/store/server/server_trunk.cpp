// Trunks: each channel is a client of the core without a socket. Its requests come in the trunk's frames, and its
// replies leave in them, as far as the relay has room: a worker that does not read delays no other one of its node.
// Replies leave in the order of the requests in all channels, because a worker's answer to a WAIT for keys that exist
// must not come behind the replies to its later requests.

#include <algorithm>
#include <utility>

#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {
namespace {

constexpr std::size_t kMostCredit = 1 << 30;

}  // namespace

void Server::Impl::take_trunks(std::string key) {
    if (trunk_key == key) return;
    trunk_key = std::move(key);
    for (const auto& client : clients)
        if (client && client->trunk) kill(*client);
}

bool Server::Impl::take_frame(Client& carrier, const wire::Request& request) {
    using Kind = wire::TrunkFrame::Kind;
    const auto frame = wire::decode_trunk(request.number, request.value);
    if (!frame) return false;
    if (frame->kind == Kind::hello) {
        if (carrier.trunk || trunk_key.empty() || frame->bytes != trunk_key) return false;
        if (!std::exchange(carrier.greeted, true)) half_open.greet(slot_of(carrier.id), false);
        carrier.trunk = std::make_unique<Trunk>();
        return true;
    }
    if (!carrier.trunk) return false;
    if (frame->kind == Kind::data) {
        Client* client = inner_client(carrier, frame->channel);
        if (!client || client->ending) return true;
        client->decoder.feed(frame->bytes);
        serve(*client);
        send_answers();
        flush_inner(*client);
        touch(*client);
        return true;
    }
    const auto found = carrier.trunk->clients.find(frame->channel);
    if (found == carrier.trunk->clients.end()) return true;
    Client* client = find(found->second);
    if (frame->kind == Kind::close) carrier.trunk->clients.erase(found);
    if (!client) return true;
    switch (frame->kind) {
        case Kind::close: kill(*client); break;
        case Kind::join: core.join(slot_of(client->id)); break;
        case Kind::leave: core.leave(slot_of(client->id)); break;
        default: client->inner->credit = std::min(client->inner->credit + frame->credit, kMostCredit); touch(*client);
    }
    return true;
}

/// Null: the server has closed this channel.
Client* Server::Impl::inner_client(Client& carrier, wire::Channel channel) {
    const auto [at, is_new] = carrier.trunk->clients.try_emplace(channel);
    if (!is_new) return find(at->second);
    if (!has_free_slot()) return nullptr;
    const Slot slot = free_slots.back();
    free_slots.pop_back();
    at->second = ++accepted << kSlotBits | slot;
    clients[slot] =
        std::make_unique<Client>(base::UniqueFd(), at->second, carrier.address, wire::Decoder::Takes::requests);
    Client& client = *clients[slot];
    client.inner = std::make_unique<Inner>(Inner{.trunk = carrier.id, .channel = channel});
    client.is_new = false;
    client.greeted = true;
    client.decoder.feed(wire::kGreeting);
    client.decoder.keep();
    return &client;
}

/// Moves replies into the trunk's output. Returns the number of bytes.
std::size_t Server::Impl::flush_inner(Client& client) {
    Client* carrier = find(client.inner->trunk);
    if (!carrier) {
        kill(client);
        return 0;
    }
    std::size_t written = 0;
    while (!client.output.empty() && client.inner->credit > 0 && carrier->output.size() <= limits.unread_bytes) {
        std::array<iovec, 64> parts;
        const std::size_t count = client.output.gather(parts);
        const std::size_t left = std::min({client.output.size(), client.inner->credit, wire::kMostPiece});
        std::string frame;
        for (std::size_t at = 0; at < count && frame.size() < left; ++at)
            frame.append(static_cast<const char*>(parts[at].iov_base),
                         std::min(parts[at].iov_len, left - frame.size()));
        std::string head;
        wire::put_data_head(head, client.inner->channel, frame.size());
        carrier->output.raw(head);
        carrier->output.raw(frame);
        client.output.consume(frame.size());
        client.inner->credit -= frame.size();
        written += frame.size();
    }
    if (!client.output.empty() && client.inner->credit > 0 && !std::exchange(client.inner->blocked, true))
        carrier->trunk->blocked.push_back(client.id);
    if (written > 0) touch(*carrier);
    if (client.ending && client.output.empty()) kill(client);
    return written;
}

std::uint8_t Server::Impl::answer_byte(const Client& client, const Core::Woken& woken) {
    if (!client.inner || !woken.by_item) return wire::kStopWaiting;
    return woken.is_over ? wire::kLastItemCame : wire::kItemCame;
}

/// The trunk's output has been sent in part: its clients go on, in the order in which they were blocked.
void Server::Impl::unblock(Client& carrier) {
    if (carrier.trunk->blocked.empty() || carrier.output.size() > limits.unread_bytes / 2) return;
    for (const ConnectionId id : std::exchange(carrier.trunk->blocked, {})) {
        Client* client = find(id);
        if (!client) continue;
        client->inner->blocked = false;
        touch(*client);
    }
}

/// A client of a trunk has ended. If the server ended it, the relay must know.
void Server::Impl::leave_trunk(Client& client) {
    Client* carrier = find(client.inner->trunk);
    if (!carrier) return;
    const auto found = carrier->trunk->clients.find(client.inner->channel);
    if (found == carrier->trunk->clients.end() || found->second != client.id) return;
    found->second = 0;
    std::string frame;
    wire::put_close(frame, client.inner->channel);
    carrier->output.raw(frame);
    touch(*carrier);
}

}  // namespace dlaunch::store
