#pragma once
/// A collective call as the backends see it: operation, buffers, counts, deadline.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlaunch/buffer.hpp>
#include <dlaunch/combination.hpp>
#include <dlaunch/error.hpp>
#include <dlaunch/reduce_op.hpp>
#include "worker_lib/src/core/deadline.hpp"
#include "worker_lib/src/core/group_info.hpp"

namespace dlaunch::worker {

enum class Op : std::uint8_t {
    barrier,
    broadcast,
    reduce,
    all_reduce,
    gather,
    scatter,
    all_gather,
    reduce_scatter,
    all_to_all,
    scan,
    exscan
};
[[nodiscard]] inline bool reduces(Op op) {
    return op == Op::reduce || op == Op::all_reduce || op == Op::reduce_scatter || op == Op::scan || op == Op::exscan;
}
[[nodiscard]] inline const char* name_of(Op op) {
    static constexpr const char* kNames[] = {"barrier",    "broadcast", "reduce",     "all_reduce",
                                             "gather",     "scatter",   "all_gather", "reduce_scatter",
                                             "all_to_all", "scan",      "exscan"};
    return kNames[static_cast<int>(op)];
}

/// One collective call. The operation decides which fields are used:
///
///   broadcast       `count` elements from the root's `in` to every other rank's `out`; `in` and `out` are one buffer
///   reduce          `count` elements of `in`; `out` at the root only
///   all_reduce      `count` elements of `in`, result in `out`
///   gather, scatter `count` elements per rank, or `counts`; the concatenation is the root's `out`, or its `in`
///   all_gather      `count` elements of each rank's `in`, or `counts`; the concatenation is `out`
///   reduce_scatter  `count` elements for each rank's `out`, or `counts`; the concatenation is `in`
///   scan, exscan    `count` elements of `in`, result of the ranks up to this one, or before it, in `out`
///   all_to_all      `count` elements per pair; or `counts` to send to each rank, `out_counts` to receive from each
///
/// check() has validated all that one rank can validate alone: non-null pointers, matching types and operations.
struct Call {
    Op op = Op::barrier;
    ElementType type = DType::uint8;
    ReduceOp reduce = ReduceOp::sum();
    const detail::Combination* function = nullptr;  ///< of the program: reduces in place of `reduce`
    Device device = Device::cpu;
    void* stream = nullptr;  ///< of device memory
    int root = -1;           ///< -1: the operation has none
    bool monitored = false;  ///< a barrier that names every missing rank at its time-out
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t count = 0;
    std::vector<std::size_t> counts, out_counts;  ///< of the v-forms; else empty
    /// The arrays of a coalesced all_reduce or broadcast, in place; `count` is their sum. nullptr: one array.
    std::shared_ptr<const std::vector<MutableBuffer>> pieces;
    Deadline deadline;
    std::uint64_t sequence = 0;  ///< number of the collective in the group, from 1
    /// The program's call if this call is a step of it: errors name the program's call, and its signature has been
    /// compared across ranks already. nullptr: this is the program's call.
    const Call* part_of = nullptr;
    /// The program's call on device memory if this call is a barrier that compares it on the host. nullptr: none.
    const Call* announced = nullptr;

    /// Elements of rank r's block, in operations with one block per rank.
    [[nodiscard]] std::size_t count_of(int r) const {
        return counts.empty() ? count : counts[static_cast<std::size_t>(r)];
    }
    [[nodiscard]] std::size_t bytes(std::size_t elements) const { return elements * size_of(type); }
    /// The arrays are where the program has them. Host memory is coalesced in `in` and `out` before a backend sees it.
    [[nodiscard]] bool is_in_pieces() const { return pieces && !in; }
    /// The call for one of its pieces.
    [[nodiscard]] Call of(const MutableBuffer& piece) const {
        Call call = *this;
        call.pieces = nullptr;
        call.in = call.out = static_cast<std::byte*>(piece.data);
        call.count = piece.count;
        return call;
    }
};

/// The longest element of a reduction by a function; a slot of shared memory holds one.
inline constexpr std::size_t kMaxCombinedBytes = std::size_t{512} << 10;

/// Number of elements that a rank reads from `in` and writes to `out`.
struct Extent {
    std::size_t in = 0, out = 0;
};
[[nodiscard]] Extent extent(const Call& call, int rank, int ranks);

/// The part of a call that must be equal on all ranks. Stored in shared memory and sent between hosts byte by byte.
struct Signature {
    static constexpr std::uint8_t kByFunction = 1;  ///< reduces by a function of the program
    static constexpr std::uint8_t kOnDevice = 2;    ///< announced on the host

    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t counts = 0;  ///< a hash of the v-form's counts, or the pieces' lengths; 0 for the plain form
    std::uint64_t detail = 0;  ///< of premul_sum: the factor, as bits; of elements that are no numbers: their size
    std::int32_t root = -1;
    Op op = Op::barrier;
    DType type = DType::uint8;
    ReduceOp::Kind reduce = ReduceOp::Kind::sum;
    std::uint8_t flags = 0;  ///< kByFunction, kOnDevice

    Signature() = default;
    explicit Signature(const Call& call);
    /// A hash of all fields; two different signatures collide with probability of about 2^-64.
    [[nodiscard]] std::uint64_t digest() const;
    friend bool operator==(const Signature&, const Signature&) = default;
};
static_assert(sizeof(Signature) == 40);

/// "all_reduce(float32, 20, sum)", "broadcast(int64, 3, root 1)", "barrier".
[[nodiscard]] std::string describe(const Signature& signature);

[[nodiscard]] bool all_alike(std::span<const Signature> by_rank);
/// Names rank 0 and the first rank with another call, and both calls; the same text on every rank. The call that fewer
/// ranks have made is the second.
[[nodiscard]] Error mismatch(std::span<const Signature> by_rank, const GroupInfo& group);
/// Rank `usual` called `first`, rank `rank` called `odd`.
[[nodiscard]] Error mismatch(int usual, const Signature& first, int rank, const Signature& odd, const GroupInfo& group);

/// Rank `from` sends `sent` elements to rank `to` in an all_to_all, which expects another number.
[[nodiscard]] Error mismatch(const Error::Where& where, const GroupInfo& group, int from, std::size_t sent, int to,
                             std::size_t expected);

/// The Error of a call that is pending when its group ends because of `why`.
[[nodiscard]] Error interrupted(const Error& why, const Error::Where& where);
/// The Error of a call that starts after the group has ended because of `why`.
[[nodiscard]] Error ended_before(const Error& why, const std::string& group);

[[nodiscard]] Error::Where where(const Call& call, const std::string& group);
/// "all_reduce #17 in group world: rank 1 ...".
[[nodiscard]] Error failure(ErrorCode code, const Error::Where& where, std::vector<int> ranks, const std::string& what);
/// A text of the program, or of another library, for an Error, whose text is one line.
[[nodiscard]] std::string one_line(std::string_view text);
/// The Error of a group that its own program on this rank aborts.
[[nodiscard]] Error aborted(const GroupInfo& group, const std::string& why);
/// Memory at this rank for an unexpected message: one from `from` that arrived before a matching receive was posted.
/// Throws Error (backend) when memory is exhausted.
[[nodiscard]] std::vector<std::byte> allocate_unexpected(const GroupInfo& group, int from, std::size_t bytes);
/// "3 s", "250 ms".
[[nodiscard]] std::string describe(std::chrono::nanoseconds duration);

}  // namespace dlaunch::worker
