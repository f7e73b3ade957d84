// The store: its accounts hold for any requests of four clients. The input is cut into pieces of `u8 client, u8 size`
// and bytes that this client sends; client & 4 closes the connection first, client & 8 clears the store. After a first
// byte 0xFF the bytes of clients from 0xD0, 0xE0 and 0xF0 on are sent 64, 4096 and 131072 times, up to 17 MiB in all.
// Clients begin with VALIDATE.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/store/core/core.hpp"

using dlaunch::store::Core;
using dlaunch::store::Output;
namespace wire = dlaunch::wire;

namespace {

constexpr std::size_t kClients = 4;
constexpr std::size_t kMostSent = 17 << 20;  // two of the largest values
constexpr std::size_t kMostKept = 12 << 20;  // one of the largest values, not two

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
    const bool waits =
        request.operation == wire::StoreOperation::wait || request.operation == wire::StoreOperation::barrier;
    client.answers_due += waits ? 1 : 0;
    const auto verdict = core.handle(static_cast<dlaunch::store::Slot>(who), request, output);
    if (verdict == Core::Verdict::refused || verdict == Core::Verdict::full) {
        if (!output.empty()) std::abort();
        return start(who, core);
    }
    if (waits) client.answers_due -= output.size();
    if (request.operation == wire::StoreOperation::cancel_wait) client.answers_due = 0;
    for (const Core::Woken& one : core.woken()) {
        const auto woken = one.connection;
        if (woken >= kClients || woken == who || clients[woken]->answers_due == 0) std::abort();
        --clients[woken]->answers_due;
    }
    core.clear_woken();
    if (core.kept_bytes() > kMostKept) std::abort();
}

std::string repeated(std::string_view bytes, std::uint8_t head, std::size_t most) {
    const std::size_t times = head >= 0xF0 ? 131'072 : head >= 0xE0 ? 4096 : head >= 0xD0 ? 64 : 1;
    std::string all;
    all.reserve(std::min(times * bytes.size(), most));
    for (std::size_t i = 0; i < times && all.size() + bytes.size() <= most; ++i) all += bytes;
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Core core;
    core.limit_kept(kMostKept);
    for (std::size_t who = 0; who < kClients; ++who) start(who, core);
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    const bool may_repeat = rest.starts_with('\xFF');
    if (may_repeat) rest.remove_prefix(1);
    std::size_t left = kMostSent;
    while (rest.size() > 2) {
        const auto head = static_cast<std::uint8_t>(rest[0]), length = static_cast<std::uint8_t>(rest[1]);
        std::string many;
        std::string_view bytes = rest.substr(2, length);
        if (may_repeat && head >= 0xD0) {
            bytes = many = repeated(bytes, head, left);
            left -= bytes.size();
        }
        rest.remove_prefix(std::min<std::size_t>(2 + length, rest.size()));
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
    core.clear();
    if (core.kept_bytes() != 0) std::abort();
    return 0;
}
