#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/reduce/kernels.hpp"

namespace dlaunch::worker {
namespace {

[[noreturn]] void refuse(const char* op, const GroupParts& group, const std::string& what) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} in group {}: {}", op, group.name, what), {},
                {op, 0, group.name});
}

/// The offset at which `in` and `out` of different lengths may share memory: this rank's block in the longer one.
std::size_t block_begin(const Call& call, int rank) {
    std::size_t begin = 0;
    for (int r = 0; r < rank; ++r) begin += call.bytes(call.count_of(r));
    return begin;
}

/// True: `in` and `out` of a call of the program overlap otherwise than in one of the documented in-place forms. The
/// result would depend on the backend and on sizes.
bool overlaps(const Call& call, int rank, int ranks) {
    if (call.op == Op::barrier || call.op == Op::broadcast) return false;
    const bool same_length = reduces(call.op) && call.op != Op::reduce_scatter;
    if (same_length && call.in == call.out) return false;
    const Extent elements = extent(call, rank, ranks);
    const std::byte *const in_end = call.in + call.bytes(elements.in), *const out_end =
                                                                           call.out + call.bytes(elements.out);
    if (call.in == in_end || call.out == out_end || std::less_equal<>()(in_end, call.out) ||
        std::less_equal<>()(out_end, call.in))
        return false;
    switch (call.op) {
        case Op::gather:
        case Op::all_gather: return call.in != call.out + block_begin(call, rank);
        case Op::scatter:
        case Op::reduce_scatter: return call.out != call.in + block_begin(call, rank);
        default: return true;
    }
}

}  // namespace

std::string why_invalid(const ConstBuffer& buffer) {
    if (is_valid(buffer)) return "";
    if (is_too_long(buffer))
        return fmt::format("{} elements of {} are more than there can be", buffer.count, name_of(buffer.type));
    return fmt::format("{} elements of {} at no address", buffer.count, name_of(buffer.type));
}

void check(const Call& call, const GroupParts& group) {
    const char* const op = name_of(call.op);
    const std::size_t ranks = group.ranks.size();
    const bool rooted =
        call.op == Op::broadcast || call.op == Op::reduce || call.op == Op::gather || call.op == Op::scatter;
    if (rooted && (call.root < 0 || call.root >= static_cast<int>(ranks)))
        refuse(op, group, fmt::format("root {} is not in a group of {}", call.root, ranks));
    if (!call.counts.empty() && call.counts.size() != ranks)
        refuse(op, group, fmt::format("{} counts for a group of {}", call.counts.size(), ranks));
    if (!call.out_counts.empty() && call.out_counts.size() != ranks)
        refuse(op, group, fmt::format("{} counts for a group of {}", call.out_counts.size(), ranks));
    if (overlaps(call, group.rank, static_cast<int>(ranks)))
        refuse(op, group, "in and out overlap, but not as in the call's in-place form: pass memory of its own for out");
    if (!reduces(call.op)) return;
    if (call.function) {
        if (call.device != Device::cpu) refuse(op, group, "a reduction by a function takes host memory only");
        if (size_of(call.type) > kMaxCombinedBytes)
            refuse(op, group,
                   fmt::format("elements of {} bytes are too long for a function, the most is {}", size_of(call.type),
                               kMaxCombinedBytes));
        return;
    }
    if (!kernel(call.type, call.reduce))
        refuse(op, group, fmt::format("{} does not exist for {}", call.reduce.name(), name_of(call.type)));
    const double factor = call.reduce.factor();
    const bool whole = call.type.kind() < DType::float16;
    if (whole && (factor != std::trunc(factor) || std::abs(factor) > 0x1p53))
        refuse(op, group,
               fmt::format("premul_sum {} on {}: the factor must be a whole number", factor, name_of(call.type)));
}

void check(const Transfer& transfer, const GroupParts& group) {
    const char* const op = transfer.sends ? "send" : "recv";
    const bool any = !transfer.sends && transfer.peer == kAnySource;
    if (!any && (transfer.peer < 0 || transfer.peer >= static_cast<int>(group.ranks.size())))
        refuse(op, group, fmt::format("rank {} is not in a group of {}", transfer.peer, group.ranks.size()));
    if (transfer.tag < 0 && (transfer.sends || transfer.tag != kAnyTag))
        refuse(op, group, fmt::format("tag {} is negative", transfer.tag));
    const ConstBuffer buffer{transfer.data, transfer.count, transfer.type, transfer.device};
    if (!is_valid(buffer)) refuse(op, group, why_invalid(buffer));
}

}  // namespace dlaunch::worker
