#include "worker_lib/src/core/coalesce.hpp"

#include <cstring>

namespace dlaunch::worker {
namespace {

using Pieces = std::span<const MutableBuffer>;

/// `copy` copies the bytes of a piece from or to their place in the common memory.
template <class Copy>
void for_each_part(Pieces pieces, std::byte* memory, Copy&& copy) {
    for (const MutableBuffer& piece : pieces) {
        const std::size_t bytes = piece.count * size_of(piece.type);
        if (bytes > 0) copy(static_cast<std::byte*>(piece.data), memory, bytes);
        memory += bytes;
    }
}

void run_batch(const Call& whole, Pieces pieces, std::vector<std::byte>& memory,
               const std::function<void(Call& batch)>& run) {
    Call batch = whole;  // with the pieces: their lengths are compared across ranks
    if (pieces.size() == 1) {
        batch.in = batch.out = static_cast<std::byte*>(pieces[0].data);
        batch.count = pieces[0].count;
        return run(batch);
    }
    batch.count = 0;
    for (const MutableBuffer& piece : pieces) batch.count += piece.count;
    memory.resize(batch.bytes(batch.count));
    for_each_part(pieces, memory.data(), [](const std::byte* piece, std::byte* place, std::size_t bytes) {
        std::memcpy(place, piece, bytes);
    });
    batch.in = batch.out = memory.data();
    run(batch);
    for_each_part(pieces, memory.data(), [](std::byte* piece, const std::byte* place, std::size_t bytes) {
        std::memcpy(piece, place, bytes);
    });
}

}  // namespace

void coalesce(const Call& call, const std::function<void(Call& batch)>& run) {
    const Pieces pieces = *call.pieces;
    (void)call.deadline.at();  // all batches have one deadline
    std::vector<std::byte> memory;
    std::size_t first = 0, bytes = 0;
    for (std::size_t next = 0; next < pieces.size(); ++next) {
        const std::size_t more = call.bytes(pieces[next].count);
        if (next > first && bytes + more > kMaxCoalescedBytes) {
            run_batch(call, pieces.subspan(first, next - first), memory, run);
            first = next, bytes = 0;
        }
        bytes += more;
    }
    run_batch(call, pieces.subspan(first), memory, run);
}

}  // namespace dlaunch::worker
