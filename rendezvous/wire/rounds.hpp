#pragma once
/// The encoding of the messages between members and the coordinator (wire/messages.hpp). No I/O.
///
/// A connection opens with kGreeting, the store protocol's VALIDATE, so that both protocols share one port. Frames
/// follow in both directions: `u8 number, u32 length` and as many bytes. Numbers are 0x40 + the message's place in
/// Message (0x40 is Hello). Integers are little-endian and fixed in size, strings `u32 length` and their bytes, lists
/// `u32 count`, an optional value `u8 0 or 1`, enumerations and truth values one byte.
///
/// The decoder refuses wrong lengths, trailing bytes and numbers out of range. Only Hello and Refused may have trailing
/// bytes: different versions recognize each other by them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/wire/frames.hpp"
#include "rendezvous/wire/messages.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {

inline constexpr std::size_t kMaxText = 4 << 10;      ///< of a name or a line; encode() cuts longer ones
inline constexpr std::size_t kMaxRecord = 256 << 10;  ///< of a failure record; encode() leaves longer ones out
inline constexpr std::size_t kMaxRecords = 16;
inline constexpr std::size_t kMaxHosts = 4096;  ///< with losses
inline constexpr std::size_t kMaxLosses = 16;   ///< per host
inline constexpr std::size_t kMaxFrame = kMaxRecords * (kMaxRecord + 4) + (16 << 10);

/// The whole frame.
[[nodiscard]] std::string encode(const rendezvous::Message& message);

/// Decodes a frame's number and payload. None if they are not a valid message.
[[nodiscard]] std::optional<rendezvous::Message> decode(std::uint8_t number, std::string_view payload);

/// A snapshot without a frame, as the guard holds it.
[[nodiscard]] std::string encode(const rendezvous::Snapshot& snapshot);
[[nodiscard]] std::optional<rendezvous::Snapshot> decode_snapshot(std::string_view bytes);

/// Splits a stream into messages.
class FrameReader {
public:
    enum class Outcome : std::uint8_t { message, more, refused };

    void feed(std::string_view bytes);
    /// refused: the bytes are not the protocol's; there is no next message.
    [[nodiscard]] Outcome next(rendezvous::Message& message);

private:
    Frames frames_{kMaxFrame};
    bool refused_ = false;
};

}  // namespace dlaunch::wire
