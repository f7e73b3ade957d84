#include "worker_lib/src/reduce/combine.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "worker_lib/src/reduce/kernels.hpp"

namespace dlaunch::worker {
namespace {

/// The elements that one call of the function combines fit into the L1 cache.
constexpr std::size_t kBlockBytes = 8192;

struct Aligned {
    explicit Aligned(std::size_t bytes, std::size_t alignment)
        : to(std::align_val_t{alignment}), data(static_cast<std::byte*>(operator new(bytes, to))) {}
    ~Aligned() { operator delete(data, to); }
    Aligned(const Aligned&) = delete;
    Aligned& operator=(const Aligned&) = delete;
    const std::align_val_t to;
    std::byte* const data;
};

bool is_aligned(const void* address, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

/// Works in memory of its own: `out` may be an input, and buffers of the transport are aligned for numbers only.
void combine_by_function(const Call& call, std::byte* out, const void* const* in, int inputs, std::size_t count) {
    const detail::Combination& function = *call.function;
    const std::size_t element = size_of(call.type),
                      block = std::min(count, std::max<std::size_t>(1, kBlockBytes / element));
    const Aligned sums(block * element, function.alignment), copy(block * element, function.alignment);
    for (std::size_t at = 0; at < count; at += block) {
        const std::size_t size = std::min(block, count - at), begin = at * element;
        for (int i = 0; i < inputs; ++i) {
            const std::byte* from = static_cast<const std::byte*>(in[i]) + begin;
            const bool direct = i > 0 && is_aligned(from, function.alignment);
            std::byte* const to = i == 0 ? sums.data : copy.data;
            if (!direct) std::memcpy(to, from, size * element);
            if (i > 0) function.run(function.function, sums.data, direct ? from : to, size);
        }
        std::memcpy(out + begin, sums.data, size * element);
    }
}

}  // namespace

void combine(const Call& call, void* out, const void* const* in, int inputs, std::size_t count, int ranks) {
    if (count == 0) return;
    if (call.function) return combine_by_function(call, static_cast<std::byte*>(out), in, inputs, count);
    kernel(call.type, call.reduce)(out, in, inputs, count, call.reduce.factor(), ranks);
}

}  // namespace dlaunch::worker
