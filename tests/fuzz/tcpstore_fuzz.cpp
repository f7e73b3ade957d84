// The decoder of the store's protocol, both numberings: bytes cut in any way decode to the same requests, encoding a
// request restores its bytes, and the decoder keeps no more than its input.
//
// Input: a byte with the switch for extensions in its lowest bit and the length of pieces in the others, then the
// bytes.

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const bool extensions = data[0] & 1;
    const std::size_t piece = 1 + data[0] / 2;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (again(bytes, piece, extensions) != again(bytes, bytes.size() + 1, extensions)) std::abort();
    return 0;
}
