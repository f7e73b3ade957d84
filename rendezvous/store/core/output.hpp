#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/store/core/value.hpp"

namespace dlaunch::store {

/// Replies queued for one client, in order; large values by reference.
class Output {
public:
    void byte(std::uint8_t byte) { bytes_ += static_cast<char>(byte); }
    void u32(std::uint32_t number);
    void u64(std::uint64_t number);
    /// The bytes without a length.
    void raw(std::string_view bytes) { bytes_ += bytes; }
    void raw(const Value& value);
    /// The bytes without a length, by reference.
    void attach(Value::Shared bytes);
    /// `u64 length` and the bytes.
    void vector(std::string_view bytes);
    void vector(const Value& value);

    /// Bytes not yet consumed.
    [[nodiscard]] std::size_t size() const { return bytes_.size() - at_ + shared_bytes_; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// Memory that only this output uses.
    [[nodiscard]] std::size_t owned_bytes() const { return bytes_.size() + attachments_.size() * sizeof(Attachment); }
    /// Bytes of large values not yet consumed.
    [[nodiscard]] std::size_t shared_bytes() const { return shared_bytes_; }
    /// Fills `parts` with the next bytes for writev(); returns the number of parts used.
    [[nodiscard]] std::size_t gather(std::span<iovec> parts) const;
    /// Removes the first `count` bytes.
    void consume(std::size_t count);
    /// A copy of all bytes left. For tests and for stores without a network.
    [[nodiscard]] std::string text() const;

private:
    struct Attachment {
        std::size_t position;  // in bytes_: comes before the byte at this place
        Value::Shared value;
    };

    void compact();

    std::string bytes_;
    std::size_t at_ = 0;  // first byte of bytes_ not yet consumed
    std::vector<Attachment> attachments_;
    std::size_t first_ = 0;          // attachment not yet consumed
    std::size_t attachment_at_ = 0;  // its first byte not yet consumed
    std::size_t shared_bytes_ = 0;   // not yet consumed, of all attachments
};

}  // namespace dlaunch::store
