#pragma once
/// The bytes of what members and the coordinator say (rounds/messages.hpp). No I/O.
///
/// A connection opens with kGreeting, the store protocol's VALIDATE, so that both live behind one port. Then frames, in
/// both directions: `u8 number, u32 length` and as many bytes. Numbers are 0x40 + the message's place in Message (0x40
/// is Hello). Integers are little-endian and fixed in size, strings `u32 length` and their bytes, lists `u32 count`, an
/// optional value `u8 0 or 1`, enumerations and truth values one byte.
///
/// What is not exactly so is refused: a wrong length, a rest, a number out of its range. Only Hello and Refused may
/// have a rest: they are how different versions tell each other that they are different.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/wire/messages.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {

inline constexpr std::size_t kMaxText = 4 << 10;      ///< of a name or a line; a longer one is cut when encoded
inline constexpr std::size_t kMaxRecord = 256 << 10;  ///< of a failure record; a longer one is left out
inline constexpr std::size_t kMaxRecords = 16;
inline constexpr std::size_t kMaxHosts = 4096;  ///< whose losses a snapshot keeps
inline constexpr std::size_t kMaxLosses = 16;   ///< of one host
inline constexpr std::size_t kMaxFrame = kMaxRecords * (kMaxRecord + 4) + (16 << 10);

/// The whole frame.
[[nodiscard]] std::string encode(const rendezvous::Message& message);

/// Of a frame's number and payload. Nothing when it is not one of ours.
[[nodiscard]] std::optional<rendezvous::Message> decode(std::uint8_t number, std::string_view payload);

/// A snapshot on its own, as a guard or a claim holds it.
[[nodiscard]] std::string encode(const rendezvous::Snapshot& snapshot);
[[nodiscard]] std::optional<rendezvous::Snapshot> decode_snapshot(std::string_view bytes);

/// Cuts a stream into messages. Memory is taken for bytes that arrived, never for a length that was claimed.
class FrameReader {
public:
    enum class Outcome : std::uint8_t { message, more, refused };

    FrameReader() { decoder_.limit_payload(kMaxFrame); }

    void feed(std::string_view bytes);
    /// refused: this is no coordinator; there is no next message.
    [[nodiscard]] Outcome next(rendezvous::Message& message);

private:
    Decoder decoder_{Decoder::Takes::frames};
    bool refused_ = false;
};

}  // namespace dlaunch::wire
