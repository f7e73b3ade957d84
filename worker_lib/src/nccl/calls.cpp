#include "worker_lib/src/nccl/calls.hpp"

#include <algorithm>
#include <concepts>
#include <cstring>

#include <dlaunch/types.hpp>

namespace dlaunch::worker::nccl {
namespace {

constexpr Type kBytes = Type::uint8;
constexpr int kUnsupported = -1;

/// By DType; movement goes by bytes and needs none.
constexpr int kTypes[kDTypes] = {
    static_cast<int>(Type::int8),
    static_cast<int>(Type::uint8),
    kUnsupported,
    kUnsupported,
    static_cast<int>(Type::int32),
    static_cast<int>(Type::uint32),
    static_cast<int>(Type::int64),
    static_cast<int>(Type::uint64),
    static_cast<int>(Type::float16),
    static_cast<int>(Type::bfloat16),
    static_cast<int>(Type::float32),
    static_cast<int>(Type::float64),
    kUnsupported,
    kUnsupported,
    kUnsupported,
    kUnsupported,
};
/// By ReduceOp::Kind: sum, product, min, max, avg, band, bor, bxor, premul_sum, which is made for each call.
constexpr Reduction kReductions[] = {0, 1, 3, 2, 4, kUnsupported, kUnsupported, kUnsupported, 0};

int type_number(const Call& call) { return kTypes[static_cast<int>(call.type.kind())]; }
Type type_of(const Call& call) { return static_cast<Type>(type_number(call)); }

/// Keeps the first result of a sequence that is not a success.
class First {
public:
    void operator()(Result result) {
        if (result_ == Result::success || result_ == Result::in_progress)
            if (result != Result::success) result_ = result;
    }
    [[nodiscard]] Result result() const { return result_; }

private:
    Result result_ = Result::success;
};

/// Runs `body` inside an NCCL group.
template <class Body>
Result grouped(const Channel& channel, Body&& body) {
    First first;
    first(channel.table.group_start());
    body(first);
    first(channel.table.group_end());
    return first.result();
}

template <class T>
void put(std::byte* to, double factor) {
    const T value = [&] {
        if constexpr (std::same_as<T, Float16> || std::same_as<T, BFloat16>)
            return T(static_cast<float>(factor));
        else if constexpr (std::integral<T>)
            return static_cast<T>(static_cast<std::int64_t>(factor));  // out-of-range factors wrap around
        else
            return static_cast<T>(factor);
    }();
    std::memcpy(to, &value, sizeof(value));
}

/// The factor in the type of the elements.
void put_factor(std::byte* to, DType type, double factor) {
    switch (type) {
        case DType::int8: return put<std::int8_t>(to, factor);
        case DType::uint8: return put<std::uint8_t>(to, factor);
        case DType::int32: return put<std::int32_t>(to, factor);
        case DType::uint32: return put<std::uint32_t>(to, factor);
        case DType::int64: return put<std::int64_t>(to, factor);
        case DType::uint64: return put<std::uint64_t>(to, factor);
        case DType::float16: return put<Float16>(to, factor);
        case DType::bfloat16: return put<BFloat16>(to, factor);
        case DType::float32: return put<float>(to, factor);
        case DType::float64: return put<double>(to, factor);
        case DType::int16:
        case DType::uint16:
        case DType::boolean:
        case DType::complex64:
        case DType::complex128:
        case DType::bytes: return;  // not native
    }
}

Result reduce(const Channel& channel, const Call& call, Reduction reduction) {
    const Type type = type_of(call);
    if (call.is_in_pieces())
        return grouped(channel, [&](First& first) {
            for (const MutableBuffer& piece : *call.pieces) first(reduce(channel, call.of(piece), reduction));
        });
    if (call.op == Op::all_reduce)
        return channel.table.all_reduce(call.in, call.out, call.count, type, reduction, channel.comm, channel.stream);
    if (call.op == Op::reduce)
        return channel.table.reduce(call.in, call.out, call.count, type, reduction, call.root, channel.comm,
                                    channel.stream);
    if (call.counts.empty())
        return channel.table.reduce_scatter(call.in, call.out, call.count, type, reduction, channel.comm,
                                            channel.stream);
    return grouped(channel, [&](First& first) {
        for (auto [r, begin] = std::pair(0, call.in); r < channel.ranks; begin += call.bytes(call.count_of(r)), ++r)
            first(channel.table.reduce(begin, r == channel.rank ? call.out : nullptr, call.count_of(r), type, reduction,
                                       r, channel.comm, channel.stream));
    });
}

Result premul_sum(const Channel& channel, const Call& call) {
    alignas(8) std::byte factor[8]{};
    put_factor(factor, call.type.kind(), call.reduce.factor());
    Reduction made = 0;
    First first;
    first(channel.table.create_premul_sum(&made, factor, type_of(call), kScalarOnHost, channel.comm));
    if (first.result() != Result::success) return first.result();
    first(reduce(channel, call, made));
    first(channel.table.destroy_reduction(made, channel.comm));
    return first.result();
}

/// Blocks of bytes to and from each rank.
using Blocks = std::vector<std::size_t>;
Result exchange(const Channel& channel, const std::byte* in, const Blocks& to, std::byte* out, const Blocks& from) {
    return grouped(channel, [&](First& first) {
        for (std::size_t r = 0, read = 0, written = 0; r < to.size(); read += to[r], written += from[r], ++r) {
            const int peer = static_cast<int>(r);
            if (to[r] > 0) first(channel.table.send(in + read, to[r], kBytes, peer, channel.comm, channel.stream));
            if (from[r] > 0)
                first(channel.table.recv(out + written, from[r], kBytes, peer, channel.comm, channel.stream));
        }
    });
}

Result all_gather(const Channel& channel, const Call& call) {
    if (call.counts.empty())
        return channel.table.all_gather(call.in, call.out, call.bytes(call.count), kBytes, channel.comm,
                                        channel.stream);
    return grouped(channel, [&](First& first) {
        std::byte* out = call.out;
        for (int r = 0; r < channel.ranks; out += call.bytes(call.count_of(r)), ++r)
            first(channel.table.broadcast(r == channel.rank ? call.in : out, out, call.bytes(call.count_of(r)), kBytes,
                                          r, channel.comm, channel.stream));
    });
}

/// Block sizes in bytes, by rank: with `all`, the sizes of all blocks; else this rank's own block at `only`, 0
/// elsewhere.
Blocks blocks(const Channel& channel, const Call& call, const std::vector<std::size_t>& counts, bool all, int only) {
    Blocks made;
    for (int r = 0; r < channel.ranks; ++r) {
        const std::size_t own = call.count_of(channel.rank);
        const std::size_t elements = !all             ? (r == only ? own : 0)
                                     : counts.empty() ? call.count
                                                      : counts[static_cast<std::size_t>(r)];
        made.push_back(call.bytes(elements));
    }
    return made;
}

}  // namespace

bool is_native(const Call& call) {
    if (!reduces(call.op)) return true;
    const bool averages_bytes =
        call.reduce.kind() == ReduceOp::Kind::avg && size_of(call.type) == 1;  // NCCL's sum wraps
    return type_number(call) != kUnsupported && kReductions[static_cast<int>(call.reduce.kind())] != kUnsupported &&
           !averages_bytes;
}

Result issue(const Channel& channel, const Call& call) {
    const bool root = call.root == channel.rank;
    switch (call.op) {
        case Op::barrier:
            return channel.table.all_reduce(call.in, call.out, 1, kBytes, 0, channel.comm, channel.stream);
        case Op::broadcast:
            if (call.is_in_pieces())
                return grouped(channel, [&](First& first) {
                    for (const MutableBuffer& piece : *call.pieces) first(issue(channel, call.of(piece)));
                });
            return channel.table.broadcast(call.in, call.out, call.bytes(call.count), kBytes, call.root, channel.comm,
                                           channel.stream);
        case Op::reduce:
        case Op::all_reduce:
        case Op::reduce_scatter:
            if (call.reduce.kind() == ReduceOp::Kind::premul_sum) return premul_sum(channel, call);
            return reduce(channel, call, kReductions[static_cast<int>(call.reduce.kind())]);
        case Op::all_gather: return all_gather(channel, call);
        case Op::gather:
            return exchange(channel, call.in, blocks(channel, call, {}, false, call.root), call.out,
                            root ? blocks(channel, call, call.counts, true, -1) : blocks(channel, call, {}, false, -1));
        case Op::scatter:
            return exchange(channel, call.in,
                            root ? blocks(channel, call, call.counts, true, -1) : blocks(channel, call, {}, false, -1),
                            call.out, blocks(channel, call, {}, false, call.root));
        case Op::all_to_all:
            return exchange(channel, call.in, blocks(channel, call, call.counts, true, -1), call.out,
                            blocks(channel, call, call.out_counts, true, -1));
        case Op::scan:
        case Op::exscan: break;  // refused: NCCL has none
    }
    return Result::internal_error;
}

Result issue(const Channel& channel, std::span<const Transfer> transfers) {
    return grouped(channel, [&](First& first) {
        for (const Transfer& one : transfers) {
            const std::size_t bytes = one.count * size_of(one.type);
            if (bytes == 0) continue;
            first(one.sends ? channel.table.send(one.data, bytes, kBytes, one.peer, channel.comm, channel.stream)
                            : channel.table.recv(one.data, bytes, kBytes, one.peer, channel.comm, channel.stream));
        }
    });
}

std::size_t part_of(const Call& call, int rank) {
    return call.op == Op::reduce_scatter ? call.count_of(rank) : call.count;
}

Result issue_inputs(const Channel& channel, const Call& call, std::byte* gathered) {
    if (call.op != Op::reduce_scatter)
        return channel.table.all_gather(call.in, gathered, call.bytes(call.count), kBytes, channel.comm,
                                        channel.stream);
    const Blocks own(static_cast<std::size_t>(channel.ranks), call.bytes(call.count_of(channel.rank)));
    return exchange(channel, call.in, blocks(channel, call, call.counts, true, -1), gathered, own);
}

}  // namespace dlaunch::worker::nccl
