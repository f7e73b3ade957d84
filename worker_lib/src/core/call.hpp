#pragma once
/// A call as the backends see it: what, how much, where, until when.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlaunch/buffer.hpp>
#include <dlaunch/error.hpp>
#include <dlaunch/reduce_op.hpp>
#include "worker_lib/src/core/deadline.hpp"

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
    all_to_all
};
[[nodiscard]] inline const char* name_of(Op op) {
    static constexpr const char* kNames[] = {"barrier", "broadcast",  "reduce",         "all_reduce", "gather",
                                             "scatter", "all_gather", "reduce_scatter", "all_to_all"};
    return kNames[static_cast<int>(op)];
}

/// One collective call. Which of the fields mean something depends on the operation:
///
///   broadcast       `count` elements of the root's `in` into the others' `out`; both are the same buffer
///   reduce          `count` of `in`; `out` at the root
///   all_reduce      `count` of `in` into `out`
///   gather, scatter `count` per rank, or `counts`; the whole is the root's `out`, or `in`
///   all_gather      `count` of each rank's `in`, or `counts`; the whole is `out`
///   reduce_scatter  `count` for each rank's `out`, or `counts`; the whole is `in`
///   all_to_all      `count` for each pair; or `counts` of what goes to each rank, `out_counts` of what comes from each
///
/// Arguments have been checked as far as one rank can: pointers are there where counts are, types and operations fit.
struct Call {
    Op op = Op::barrier;
    DType type = DType::uint8;
    ReduceOp reduce = ReduceOp::sum();
    Device device = Device::cpu;
    void* stream = nullptr;  ///< of device memory
    int root = -1;           ///< -1: the operation has none
    bool monitored = false;  ///< a barrier whose time-out names everybody who is missing
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t count = 0;
    std::vector<std::size_t> counts, out_counts;  ///< of the v-forms; else empty
    Deadline deadline;
    std::uint64_t sequence = 0;  ///< of the group's collectives, from 1
    /// The program's call, where this is a step of one: errors name that one, and the ranks have compared it already.
    const Call* part_of = nullptr;

    /// Elements of rank r's part, in the forms that have one per rank.
    [[nodiscard]] std::size_t count_of(int r) const {
        return counts.empty() ? count : counts[static_cast<std::size_t>(r)];
    }
    [[nodiscard]] std::size_t bytes(std::size_t elements) const { return elements * size_of(type); }
};

/// A call as others see it: what must be alike on all ranks. Lies in shared memory and goes over wires as it is.
struct Signature {
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t counts = 0;  ///< a hash of the v-form's counts; 0 for the plain form
    std::uint64_t factor = 0;  ///< the bits of premul_sum's
    std::int32_t root = -1;
    Op op = Op::barrier;
    DType type = DType::uint8;
    ReduceOp::Kind reduce = ReduceOp::Kind::sum;
    std::uint8_t zero = 0;

    Signature() = default;
    explicit Signature(const Call& call);
    /// Differs where signatures do, but for one chance in 2^64 or so.
    [[nodiscard]] std::uint64_t digest() const;
    friend bool operator==(const Signature&, const Signature&) = default;
};
static_assert(sizeof(Signature) == 40);

/// "all_reduce(float32, 20, sum)", "broadcast(int64, 3, root 1)", "barrier".
[[nodiscard]] std::string describe(const Signature& signature);

/// The same text on every rank: who differs from rank 0 first, and what both called. Where nobody does: no error.
[[nodiscard]] bool all_alike(std::span<const Signature> by_rank);
[[nodiscard]] Error mismatch(std::span<const Signature> by_rank, const std::string& group);
[[nodiscard]] Error mismatch(const Signature& of_rank_0, int rank, const Signature& odd, const std::string& group);

/// What a call throws whose group ends meanwhile, because of `why`.
[[nodiscard]] Error interrupted(const Error& why, const Error::Where& where);
/// What a call of an ended group throws: why it ended.
[[nodiscard]] Error ended_before(const Error& why, const std::string& group);

[[nodiscard]] Error::Where where(const Call& call, const std::string& group);
/// "all_reduce #17 in group world: rank 1 ...".
[[nodiscard]] Error failure(ErrorCode code, const Error::Where& where, std::vector<int> ranks, const std::string& what);
/// At this rank, for a message of `from` that has come before what is to be received; throws Error where there is none.
[[nodiscard]] std::vector<std::byte> room_for_early(int rank, int from, std::size_t bytes);
/// "rank 3", "ranks 1, 2 and 5".
[[nodiscard]] std::string list_ranks(const std::vector<int>& ranks);
/// "3 s", "250 ms".
[[nodiscard]] std::string describe(std::chrono::nanoseconds duration);

}  // namespace dlaunch::worker
