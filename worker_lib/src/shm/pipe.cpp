#include "worker_lib/src/shm/pipe.hpp"

#include <algorithm>
#include <cstring>

namespace dlaunch::worker::shm {

std::size_t Pipe::write(const std::byte* data, std::size_t size) {
    size = std::min(size, writable());
    if (size == 0) return 0;
    const std::uint64_t count = ring_->written.load(std::memory_order_relaxed);
    const std::size_t at = count % bytes_, first = std::min(size, bytes_ - at);
    std::memcpy(ring_->bytes + at, data, first);
    std::memcpy(ring_->bytes, data + first, size - first);
    ring_->written.store(count + size, std::memory_order_release);
    return size;
}

std::size_t Pipe::read(std::byte* data, std::size_t size) {
    size = std::min(size, readable());
    if (size == 0) return 0;
    const std::uint64_t count = ring_->read.load(std::memory_order_relaxed);
    const std::size_t at = count % bytes_, first = std::min(size, bytes_ - at);
    std::memcpy(data, ring_->bytes + at, first);
    std::memcpy(data + first, ring_->bytes, size - first);
    ring_->read.store(count + size, std::memory_order_release);
    return size;
}

std::size_t Pipe::skip(std::size_t size) {
    size = std::min(size, readable());
    ring_->read.store(ring_->read.load(std::memory_order_relaxed) + size, std::memory_order_release);
    return size;
}

}  // namespace dlaunch::worker::shm
