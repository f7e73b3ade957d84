#pragma once

#include <cstdint>

#include "worker_lib/src/shm/segment.hpp"

namespace dlaunch::worker::shm {

/// One end of a ring: a byte queue of fixed capacity for one writer and one reader.
class Pipe {
public:
    Pipe(Ring& ring, std::size_t bytes) : ring_(&ring), bytes_(bytes) {}

    /// Write or read up to `size` bytes without blocking; return the number of bytes.
    std::size_t write(const std::byte* data, std::size_t size);
    std::size_t read(std::byte* data, std::size_t size);
    /// Discards up to `size` bytes; returns their number.
    std::size_t skip(std::size_t size);
    [[nodiscard]] std::size_t readable() const {
        return ring_->written.load(std::memory_order_acquire) - ring_->read.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t writable() const {
        return bytes_ - (ring_->written.load(std::memory_order_relaxed) - ring_->read.load(std::memory_order_acquire));
    }

private:
    Ring* ring_;
    std::size_t bytes_;
};

}  // namespace dlaunch::worker::shm
