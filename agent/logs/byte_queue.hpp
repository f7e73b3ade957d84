#pragma once

#include <cstring>
#include <memory>
#include <string_view>

namespace dlaunch::agent {

/// A FIFO of bytes in one contiguous buffer, so that one write(2) sends a whole batch. The queue grows without limit:
/// callers check size() before they append.
class ByteQueue {
public:
    [[nodiscard]] std::size_t size() const { return end_ - begin_; }
    [[nodiscard]] bool empty() const { return begin_ == end_; }
    [[nodiscard]] std::string_view view() const { return {bytes_.get() + begin_, size()}; }

    /// Memory for `n` more bytes, valid until the next call; commit() then adds the filled ones.
    [[nodiscard]] char* reserve(std::size_t n) {
        if (capacity_ - end_ < n) make_room(n);
        return bytes_.get() + end_;
    }
    void commit(std::size_t n) { end_ += n; }

    void append(std::string_view bytes) {
        if (bytes.empty()) return;
        std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
        commit(bytes.size());
    }

    void consume(std::size_t n) {
        begin_ += n;
        if (begin_ == end_) clear();
    }

    /// Drops all bytes; frees the buffer when it is larger than kKeptBytes.
    void clear() {
        begin_ = end_ = 0;
        if (capacity_ <= kKeptBytes) return;
        bytes_.reset();
        capacity_ = 0;
    }

private:
    static constexpr std::size_t kKeptBytes = 2 << 20;

    void make_room(std::size_t n) {
        const std::size_t held = size();
        // Move within the buffer when at least half of it becomes free; else grow, so that moves stay rare.
        if (held + n > capacity_ / 2) {
            std::size_t larger = capacity_ < 16384 ? 16384 : capacity_;
            while (larger / 2 < held + n) larger *= 2;
            auto fresh = std::make_unique_for_overwrite<char[]>(larger);
            if (held) std::memcpy(fresh.get(), bytes_.get() + begin_, held);
            bytes_ = std::move(fresh);
            capacity_ = larger;
        } else if (held) {
            std::memmove(bytes_.get(), bytes_.get() + begin_, held);
        }
        begin_ = 0;
        end_ = held;
    }

    std::unique_ptr<char[]> bytes_;
    std::size_t begin_ = 0, end_ = 0, capacity_ = 0;
};

}  // namespace dlaunch::agent
