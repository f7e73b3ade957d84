#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {

/// Finds the end of the reply to a request. Replies have no frame: the request determines their fields. No copy of the
/// reply is made.
class ReplyReader {
public:
    /// Of WAIT and BARRIER the reply is their answer. A request without a reply is done at once.
    explicit ReplyReader(const Request& request);

    [[nodiscard]] bool done() const { return left_ == 0 && strings_ == 0; }
    /// Bytes that the reply certainly still has; after them it may have more.
    [[nodiscard]] std::size_t needs() const { return left_; }
    /// Returns how many bytes at the start of `bytes` belong to the reply.
    std::size_t take(std::string_view bytes);
    [[nodiscard]] bool has_begun() const { return has_begun_; }

private:
    enum class Field : std::uint8_t {
        plain,   ///< of no matter here
        count,   ///< the number of strings that follow
        filled,  ///< above zero if a string follows
        length,  ///< of a string
    };

    void next_string();
    void end_field();

    Field field_ = Field::plain;
    std::uint64_t left_ = 0;     ///< bytes of the current field
    std::uint64_t strings_ = 0;  ///< after the current field
    std::uint64_t number_ = 0;   ///< the current field, little-endian, as far as it has come
    unsigned shift_ = 0;         ///< of its next byte
    bool has_begun_ = false;
};

}  // namespace dlaunch::wire
