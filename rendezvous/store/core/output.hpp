#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/store/core/value.hpp"

namespace dlaunch::store {

/// Replies on their way to one client, in order; large values by reference.
class Output {
public:
    void byte(std::uint8_t byte) { bytes_ += static_cast<char>(byte); }
    void u32(std::uint32_t number);
    void u64(std::uint64_t number);
    /// As it is, without a length.
    void raw(std::string_view bytes) { bytes_ += bytes; }
    void raw(const Value& value);
    /// Large bytes as they are, by reference.
    void attach(Value::Shared bytes);
    /// `u64 length` and the bytes.
    void vector(std::string_view bytes);
    void vector(const Value& value);

    /// Bytes not yet consumed.
    [[nodiscard]] std::size_t size() const { return bytes_.size() - at_ + shared_bytes_; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// Memory that belongs to this output alone.
    [[nodiscard]] std::size_t owned_bytes() const { return bytes_.size() + attachments_.size() * sizeof(Attachment); }
    /// Of large values, not yet consumed.
    [[nodiscard]] std::size_t shared_bytes() const { return shared_bytes_; }
    /// Fills `parts` with what comes next, as writev() takes it; returns how many were needed.
    [[nodiscard]] std::size_t gather(std::span<iovec> parts) const;
    /// The first `count` bytes are gone.
    void consume(std::size_t count);
    /// All that is left, copied. For tests and for stores without a network.
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
