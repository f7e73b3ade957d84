// The store: its accounts hold for any requests of four clients. The input is cut into pieces of `u8 client, u8 size`
// and bytes that this client sends; client & 4 closes the connection first, client & 8 clears the store. Clients begin
// with VALIDATE.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "rendezvous/store/core/core.hpp"

using dlaunch::store::Core;
using dlaunch::store::Output;
namespace wire = dlaunch::wire;

namespace {

constexpr std::size_t kClients = 4;

struct Client {
    Client() {
        wire::Request none;
        decoder.feed(wire::kGreeting);
        if (decoder.next(none) != wire::Decoder::Outcome::more) std::abort();
        decoder.keep();
    }
    wire::Decoder decoder;
    std::size_t answers_due = 0;
};

std::array<std::unique_ptr<Client>, kClients> clients;

void start(std::size_t who, Core& core) {
    core.close(static_cast<dlaunch::store::Slot>(who));
    clients[who] = std::make_unique<Client>();
}

/// A WAIT is answered exactly once, at once or later, or cancelled by CANCEL_WAIT.
void handle(Core& core, std::size_t who, const wire::Request& request) {
    Output output;
    Client& client = *clients[who];
    const bool waits = request.message == wire::Message::wait || request.message == wire::Message::barrier;
    client.answers_due += waits ? 1 : 0;
    if (core.handle(static_cast<dlaunch::store::Slot>(who), request, output) == Core::Verdict::refused) {
        if (!output.empty()) std::abort();
        return start(who, core);
    }
    if (waits) client.answers_due -= output.size();
    if (request.message == wire::Message::cancel_wait) client.answers_due = 0;
    for (const auto woken : core.woken()) {
        if (woken >= kClients || woken == who || clients[woken]->answers_due == 0) std::abort();
        --clients[woken]->answers_due;
    }
    core.clear_woken();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Core core;
    for (std::size_t who = 0; who < kClients; ++who) start(who, core);
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    while (rest.size() > 2) {
        const auto head = static_cast<std::uint8_t>(rest[0]), length = static_cast<std::uint8_t>(rest[1]);
        const std::string_view bytes = rest.substr(2, length);
        rest.remove_prefix(2 + bytes.size());
        const std::size_t who = head % kClients;
        if (head & 4) start(who, core);
        if (head & 8) core.clear();
        wire::Request request;
        Client* client = clients[who].get();
        client->decoder.feed(bytes);
        auto outcome = wire::Decoder::Outcome::more;
        while (client == clients[who].get() &&
               (outcome = client->decoder.next(request)) == wire::Decoder::Outcome::request)
            handle(core, who, request);
        if (client != clients[who].get()) continue;
        client->decoder.keep();
        if (outcome == wire::Decoder::Outcome::refused) start(who, core);
    }
    return 0;
}
