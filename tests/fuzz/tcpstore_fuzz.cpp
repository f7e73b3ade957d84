// The decoder of the store's protocol, both numberings: bytes cut in any way decode to the same requests, encoding a
// request restores its bytes, and the decoder keeps no more than its input.
//
// Input: a byte with the switch for extensions in its lowest bit and the length of pieces in the others, then the
// bytes. After 0xFF the pieces have 64 KiB, and the bytes are parts of `u8 times, u8 size` and as many bytes, which
// count 1, 64, 4096 or 131072 times, up to 17 MiB in all.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rendezvous/wire/tcpstore.hpp"

namespace wire = dlaunch::wire;
using Outcome = wire::Decoder::Outcome;

namespace {

/// All decoded requests, encoded again, and the last outcome.
std::string again(std::string_view bytes, std::size_t piece, bool extensions) {
    wire::Decoder decoder(extensions ? wire::Decoder::Takes::both : wire::Decoder::Takes::requests);
    std::string encoded;
    wire::Request request;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        const std::string own(bytes.substr(at, piece));
        decoder.feed(own);
        Outcome outcome = decoder.next(request);
        for (; outcome == Outcome::request; outcome = decoder.next(request))
            wire::encode(request, encoded, *decoder.numbering());
        if (outcome == Outcome::refused) return encoded + "refused";
        decoder.keep();
        if (decoder.pending() > bytes.size()) std::abort();
    }
    const std::size_t hello = decoder.numbering() == wire::Numbering::newest ? wire::kGreeting.size() : 0;
    const std::string_view rest = bytes.substr(hello + encoded.size());
    if (decoder.numbering() && (bytes.substr(hello, encoded.size()) != encoded || rest.size() != decoder.pending()))
        std::abort();
    return encoded + "more";
}

std::string expanded(std::string_view parts) {
    constexpr std::array<std::size_t, 4> kTimes{1, 64, 4096, 131'072};
    constexpr std::size_t kMost = 17 << 20;
    std::string all;
    while (parts.size() > 2) {
        const std::size_t times = kTimes[static_cast<std::uint8_t>(parts[0]) % kTimes.size()];
        const std::string_view bytes = parts.substr(2, static_cast<std::uint8_t>(parts[1]));
        for (std::size_t i = 0; i < times && all.size() < kMost; ++i) all += bytes;
        parts.remove_prefix(2 + bytes.size());
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const bool extensions = data[0] & 1;
    std::size_t piece = 1 + data[0] / 2;
    std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::string many;
    if (data[0] == 0xFF) {
        piece = 64 << 10;
        many = expanded(bytes);
        bytes = many;
    }
    if (again(bytes, piece, extensions) != again(bytes, bytes.size() + 1, extensions)) std::abort();
    return 0;
}
