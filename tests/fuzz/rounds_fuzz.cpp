// The decoder of rendezvous messages: bytes cut in any way decode to the same messages, and a decoded message survives
// encoding and decoding.
//
// Input: a byte with the length of the pieces, then the frames.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rendezvous/wire/rounds.hpp"

namespace wire = dlaunch::wire;
using Outcome = wire::FrameReader::Outcome;

namespace {

/// All decoded messages, encoded again, and the last outcome.
std::string again(std::string_view bytes, std::size_t piece) {
    wire::FrameReader reader;
    std::string encoded;
    dlaunch::rendezvous::Message message;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        reader.feed(bytes.substr(at, piece));
        Outcome outcome = reader.next(message);
        for (; outcome == Outcome::message; outcome = reader.next(message)) {
            const std::string frame = wire::encode(message);
            constexpr std::size_t kHead = 5;
            const auto decoded =
                wire::decode(static_cast<std::uint8_t>(frame[0]), std::string_view(frame).substr(kHead));
            if (!decoded || wire::encode(*decoded) != frame) std::abort();
            encoded += frame;
        }
        if (outcome == Outcome::refused) return encoded + "refused";
    }
    return encoded + "more";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (again(bytes, 1 + data[0]) != again(bytes, bytes.size() + 1)) std::abort();
    return 0;
}
