/// CUDA's memory: device memory, pinned and managed memory are all memory of the host.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "tests/support/fake_nccl/streams.hpp"

namespace fake {
namespace {

constexpr int kInvalidValue = 1, kDeinitialized = 4, kInvalidContext = 201, kNoDevice = -2;
/// CU_MEMORYTYPE_*
enum class MemoryType : unsigned { unknown, host, device };

struct Piece {
    std::size_t bytes = 0;
    MemoryType type = MemoryType::unknown;
    bool managed = false;
    int device = kNoDevice;
};

std::mutex memory_mutex;
auto& memory = *new std::map<const std::byte*, Piece>;  // never destroyed: threads may use it at exit

/// The piece that contains all of these bytes, else an unknown one.
Piece piece_at(const void* data, std::size_t bytes) {
    const std::lock_guard lock(memory_mutex);
    const auto* begin = static_cast<const std::byte*>(data);
    auto after = memory.upper_bound(begin);
    if (after == memory.begin()) return {};
    --after;
    return begin + bytes <= after->first + after->second.bytes ? after->second : Piece{};
}

int allocate(std::uintptr_t* address, std::size_t bytes, MemoryType type, bool managed) {
    if (current_device() < 0) return kInvalidContext;
    if (const int prohibited = make_unsafe_call(); prohibited != 0) return prohibited;
    auto* data = static_cast<std::byte*>(std::malloc(bytes));
    const std::lock_guard lock(memory_mutex);
    memory[data] = {bytes, type, managed, current_device()};
    *address = reinterpret_cast<std::uintptr_t>(data);
    return 0;
}

}  // namespace

bool is_device_memory(const void* data, std::size_t bytes) { return piece_at(data, bytes).type == MemoryType::device; }

bool is_reachable(const void* data, std::size_t bytes, int device) {
    const Piece piece = piece_at(data, bytes);
    if (bytes == 0 || setting("FAKE_CUDA_PAGEABLE", 0) != 0) return true;
    return piece.type == MemoryType::host || piece.managed ||
           (piece.type == MemoryType::device && piece.device == device);
}

}  // namespace fake

using namespace fake;

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {

int cuMemAlloc_v2(std::uintptr_t* address, std::size_t bytes) {
    return allocate(address, bytes, MemoryType::device, false);
}
int cuMemAllocManaged(std::uintptr_t* address, std::size_t bytes, unsigned) {
    return allocate(address, bytes, MemoryType::device, true);
}
int cuMemAllocHost_v2(void** data, std::size_t bytes) {
    return allocate(reinterpret_cast<std::uintptr_t*>(data), bytes, MemoryType::host, false);
}
/// Waits for all pending work, which may use the memory.
int cuMemFree_v2(std::uintptr_t address) {
    if (is_shut_down()) return kDeinitialized;
    if (current_device() < 0) std::abort();  // fail loudly: the memory would be lost silently
    await_all_streams();
    auto* data = reinterpret_cast<std::byte*>(address);
    const std::lock_guard lock(memory_mutex);
    if (memory.erase(data) == 0) return kInvalidValue;
    std::free(data);
    return 0;
}
/// Of a pointer that CUDA does not know all attributes are zero, the device is none, and the call succeeds.
int cuPointerGetAttributes(unsigned count, const int* attributes, void** values, std::uintptr_t address) {
    const Piece piece = piece_at(reinterpret_cast<void*>(address), 1);
    for (unsigned i = 0; i < count; ++i) {
        if (attributes[i] == 2)
            *static_cast<unsigned*>(values[i]) = static_cast<unsigned>(piece.type);
        else if (attributes[i] == 8)
            *static_cast<unsigned*>(values[i]) = piece.managed ? 1 : 0;
        else if (attributes[i] == 9)
            *static_cast<int*>(values[i]) = piece.device;
        else
            return kInvalidValue;
    }
    return 0;
}
int cuMemcpyHtoDAsync_v2(std::uintptr_t to, const void* from, std::size_t bytes, void* stream) {
    if (!is_device_memory(reinterpret_cast<void*>(to), bytes)) return kInvalidValue;
    // The driver copies pageable memory before it returns, so that the caller may reuse it at once.
    const auto* begin = static_cast<const std::byte*>(from);
    enqueue(stream, [to, staged = std::vector<std::byte>(begin, begin + bytes)] {
        std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
    });
    return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uintptr_t from, std::size_t bytes, void* stream) {
    if (!is_device_memory(reinterpret_cast<void*>(from), bytes)) return kInvalidValue;
    enqueue(stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
    return 0;
}
}
// NOLINTEND(readability-identifier-naming)
