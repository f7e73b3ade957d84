#pragma once
/// Splits a stream into frames: `u8 number, u32 length` and as many bytes, numbers from 0x40 up. No I/O.
///
/// Members and the coordinator exchange their messages in such frames behind kGreeting, the front end and its agents
/// without one.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {

struct Frame {
    std::uint8_t number = 0;
    std::string_view payload;  ///< valid until the next call of any member of Frames
};

/// Allocates for bytes that arrived, never for a claimed length.
class Frames {
public:
    enum class Outcome : std::uint8_t { frame, more, refused };

    explicit Frames(std::size_t most_payload) { limit(most_payload); }

    /// Sets the longest payload from now on.
    void limit(std::size_t most_payload) { decoder_.limit_payload(most_payload); }
    /// Adds bytes. They must stay where they are until keep().
    void feed(std::string_view bytes) { decoder_.feed(bytes); }
    /// refused: the bytes are no frames, or one is too long; there is no next frame.
    [[nodiscard]] Outcome next(Frame& frame);
    /// Copies the bytes that next() has not used, so that the caller may reuse those given to feed().
    void keep() { decoder_.keep(); }

private:
    Decoder decoder_{Decoder::Takes::frames};
    bool refused_ = false;
};

}  // namespace dlaunch::wire
