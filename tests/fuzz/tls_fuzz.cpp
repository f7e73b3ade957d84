// Any bytes in place of a peer's: an engine fails or waits for more, opens nothing that its peer has not sealed, and
// what it then answers is TLS.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "rendezvous/auth/tls.hpp"

using namespace dlaunch::auth;

namespace {

const TlsContextPtr& context() {
    static const TlsContextPtr made = *TlsContext::of(Token("a-token-of-the-fuzzer"));
    return made;
}

std::string take(Tls& from) { return std::exchange(from.sealed(), {}); }

/// Feeds `bytes`, split at a place that they choose.
void give(Tls& to, std::string_view bytes) {
    const std::size_t at = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]) % bytes.size();
    for (const std::string_view piece : {bytes.substr(0, at), bytes.substr(at)}) {
        to.feed(piece);
        if (!to.plain().empty()) std::abort();
    }
    if (const std::string answer = take(to); !answer.empty() && (answer[0] < '\x14' || answer[0] > '\x17'))
        std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (input.empty()) return 0;
    Tls server(context(), Tls::Side::server), client(context(), Tls::Side::client);
    enum Stage { at_once, in_the_handshake, in_the_open, kStages };
    const int stage = input[0] % kStages;
    if (stage >= in_the_handshake) server.feed(take(client));
    if (stage >= in_the_open) {
        client.feed(take(server));
        server.feed(take(client));
        if (server.state() != Tls::State::open || client.state() != Tls::State::open) std::abort();
    }
    give(server, input.substr(1));
    give(client, input.substr(1));
    return 0;
}
