/// ProcessGroup's collectives: each builds a Call of its arguments and passes it to the group.

#include <fmt/format.h>

#include "worker_lib/src/member.hpp"

namespace dlaunch {
namespace {

using worker::Call;
using worker::Group;
using worker::Op;

[[noreturn]] void refuse(const char* op, const Group& group, const std::string& what) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} in group {}: {}", op, group.parts().name, what), {},
                {op, 0, group.parts().name});
}

/// Counts a buffer's numbers as arrays of them, if `type` is one and there are no numbers left over. all_gather(row,
/// rows) passes N numbers and elements std::array<T, N>.
template <class Buffer>
void regroup(Buffer& buffer, ElementType type) {
    const std::size_t bytes = buffer.count * size_of(buffer.type);
    const bool fits = buffer.type.is_number() && buffer.type.kind() == type.kind() && bytes % size_of(type) == 0;
    if (fits) buffer.count = bytes / size_of(type), buffer.type = type;
}

/// A call that reads `in` and writes `out`.
Call make_call(const Group& group, Op op, ConstBuffer& in, MutableBuffer& out) {
    if (!worker::is_valid(in)) refuse(name_of(op), group, worker::why_invalid(in));
    if (!worker::is_valid(out)) refuse(name_of(op), group, worker::why_invalid(out));
    if (in.type != out.type) regroup(in, out.type), regroup(out, in.type);
    if (in.type != out.type)
        refuse(name_of(op), group,
               fmt::format("{} in, {} out: the types must be equal", name_of(in.type), name_of(out.type)));
    if (in.device != out.device || in.stream != out.stream)
        refuse(name_of(op), group, "in and out must be both on the host, or both on the device and on one stream");
    Call call;
    call.op = op;
    call.type = in.type;
    call.device = in.device;
    call.stream = in.stream;
    call.in = static_cast<const std::byte*>(in.data);
    call.out = static_cast<std::byte*>(out.data);
    return call;
}

void expect(const Group& group, Op op, const char* what, std::size_t count, std::size_t expected) {
    if (count != expected)
        refuse(name_of(op), group, fmt::format("{} has {} elements, expected {}", what, count, expected));
}

/// Number of elements per rank in a buffer with one block per rank.
std::size_t share(const Group& group, Op op, const char* what, std::size_t count) {
    const auto ranks = static_cast<std::size_t>(group.size());
    if (count % ranks != 0)
        refuse(name_of(op), group, fmt::format("{} has {} elements, which {} ranks cannot share", what, count, ranks));
    return count / ranks;
}

/// The counts of a v-form; an empty span is refused here, because Call takes it for the plain form.
Counts one_each(const Group& group, Op op, Counts counts) {
    if (counts.size() != static_cast<std::size_t>(group.size()))
        refuse(name_of(op), group, fmt::format("{} counts for a group of {}", counts.size(), group.size()));
    return counts;
}

// Functions that build a Call from a member's arguments.

Call broadcast_call(const Group& group, MutableBuffer data, int root) {
    ConstBuffer in = data;
    Call call = make_call(group, Op::broadcast, in, data);
    call.count = data.count;
    call.root = root;
    return call;
}

Call reduce_call(const Group& group, Op op, ConstBuffer in, MutableBuffer out, int root, ReduceOp reduce) {
    const bool writes = op != Op::reduce || root == group.rank();
    if (!writes) out = {nullptr, 0, in.type, in.device, in.stream};
    Call call = make_call(group, op, in, out);
    if (writes) expect(group, op, "out", out.count, in.count);
    call.count = in.count;
    call.root = root;
    call.reduce = reduce;
    return call;
}

Call gather_call(const Group& group, Op op, ConstBuffer in, MutableBuffer out, Counts counts, int root) {
    const bool receives = op == Op::all_gather || root == group.rank();
    if (!receives) out = {nullptr, 0, in.type, in.device, in.stream};
    Call call = make_call(group, op, in, out);
    call.root = root;
    call.counts.assign(counts.begin(), counts.end());
    call.count = in.count;
    if (counts.empty()) {
        if (receives) expect(group, op, "out", out.count, in.count * static_cast<std::size_t>(group.size()));
    } else if (counts.size() == static_cast<std::size_t>(group.size())) {
        expect(group, op, "in", in.count, counts[static_cast<std::size_t>(group.rank())]);
        if (receives) expect(group, op, "out", out.count, sum(counts));
    }
    return call;
}

Call scatter_call(const Group& group, Op op, ConstBuffer in, MutableBuffer out, Counts counts, int root,
                  ReduceOp reduce = ReduceOp::sum()) {
    const bool sends = op == Op::reduce_scatter || root == group.rank();
    if (!sends) in = {nullptr, 0, out.type, out.device, out.stream};
    Call call = make_call(group, op, in, out);
    call.root = root;
    call.reduce = reduce;
    call.counts.assign(counts.begin(), counts.end());
    call.count = out.count;
    if (counts.empty()) {
        if (sends) expect(group, op, "in", in.count, out.count * static_cast<std::size_t>(group.size()));
    } else if (counts.size() == static_cast<std::size_t>(group.size())) {
        expect(group, op, "out", out.count, counts[static_cast<std::size_t>(group.rank())]);
        if (sends) expect(group, op, "in", in.count, sum(counts));
    }
    return call;
}

Call all_to_all_call(const Group& group, ConstBuffer in, MutableBuffer out) {
    Call call = make_call(group, Op::all_to_all, in, out);
    call.count = share(group, Op::all_to_all, "in", in.count);
    expect(group, Op::all_to_all, "out", out.count, in.count);
    return call;
}

Call all_to_allv_call(const Group& group, ConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts) {
    Call call = make_call(group, Op::all_to_all, in, out);
    expect(group, Op::all_to_all, "in", in.count, sum(one_each(group, Op::all_to_all, in_counts)));
    expect(group, Op::all_to_all, "out", out.count, sum(one_each(group, Op::all_to_all, out_counts)));
    call.counts.assign(in_counts.begin(), in_counts.end());
    call.out_counts.assign(out_counts.begin(), out_counts.end());
    return call;
}

/// All ranks of a call must pass pieces, at least an empty list; the pieces of one rank are alike but in length.
Call coalesced_call(const Group& group, Op op, std::span<const MutableBuffer> arrays, int root, ReduceOp reduce) {
    Call call;
    call.op = op;
    call.root = root;
    call.reduce = reduce;
    for (const MutableBuffer& array : arrays) {
        if (!worker::is_valid(array)) refuse(name_of(op), group, worker::why_invalid(array));
        if (array.type != arrays[0].type)
            refuse(name_of(op), group,
                   fmt::format("arrays of {} and {}: make one call for each type", name_of(arrays[0].type),
                               name_of(array.type)));
        if (array.device != arrays[0].device || array.stream != arrays[0].stream)
            refuse(name_of(op), group, "the arrays must be all on the host, or all on the device and on one stream");
        call.count += array.count;
        call.type = array.type;
        call.device = array.device;
        call.stream = array.stream;
    }
    call.pieces = std::make_shared<const std::vector<MutableBuffer>>(arrays.begin(), arrays.end());
    return call;
}

Call combine_call(const Group& group, Op op, MutableBuffer data, int root, const detail::Combination& function) {
    Call call = reduce_call(group, op, data, data, root, ReduceOp::sum());
    call.function = &function;
    return call;
}

}  // namespace

#define DLAUNCH_RUN(call_expression)         \
    Group& group = member(group_, __func__); \
    Call call = (call_expression);           \
    group.run(call, options.timeout)
#define DLAUNCH_START(call_expression)       \
    Group& group = member(group_, __func__); \
    return group.start((call_expression), options.timeout)

void ProcessGroup::barrier(const CallOptions& options) const { DLAUNCH_RUN(Call()); }
Work ProcessGroup::barrier_async(const CallOptions& options) const { DLAUNCH_START(Call()); }
void ProcessGroup::monitored_barrier(const BarrierOptions& options) const {
    Group& group = member(group_, __func__);
    try {
        Call call;
        call.monitored = true;
        group.run(call, options.timeout);
    } catch (const Error& error) {
        if (options.wait_all_ranks || error.code() != ErrorCode::timeout || error.ranks().size() < 2) throw;
        const int first = error.ranks().front();
        throw worker::failure(error.code(), {error.op(), error.sequence(), error.group()}, {first},
                              fmt::format("rank {} did not arrive", group.parts().names()[first]));
    }
}

void ProcessGroup::broadcast(MutableBuffer data, int root, const CallOptions& options) const {
    DLAUNCH_RUN(broadcast_call(group, data, root));
}
Work ProcessGroup::broadcast_async(MutableBuffer data, int root, const CallOptions& options) const {
    DLAUNCH_START(broadcast_call(group, data, root));
}

void ProcessGroup::all_reduce(Numbers<MutableBuffer> data, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::all_reduce, data, data, -1, op));
}
void ProcessGroup::all_reduce(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                              const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::all_reduce, in, out, -1, op));
}
Work ProcessGroup::all_reduce_async(Numbers<MutableBuffer> data, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::all_reduce, data, data, -1, op));
}
Work ProcessGroup::all_reduce_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                                    const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::all_reduce, in, out, -1, op));
}

void ProcessGroup::reduce(Numbers<MutableBuffer> data, int root, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::reduce, data, data, root, op));
}
void ProcessGroup::reduce(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, int root, ReduceOp op,
                          const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::reduce, in, out, root, op));
}
Work ProcessGroup::reduce_async(Numbers<MutableBuffer> data, int root, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::reduce, data, data, root, op));
}

void ProcessGroup::gather(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) const {
    DLAUNCH_RUN(gather_call(group, Op::gather, in, out, {}, root));
}
Work ProcessGroup::gather_async(AsyncConstBuffer in, MutableBuffer out, int root, const CallOptions& options) const {
    DLAUNCH_START(gather_call(group, Op::gather, in, out, {}, root));
}
void ProcessGroup::gatherv(ConstBuffer in, MutableBuffer out, Counts counts, int root,
                           const CallOptions& options) const {
    DLAUNCH_RUN(gather_call(group, Op::gather, in, out, one_each(group, Op::gather, counts), root));
}
Work ProcessGroup::gatherv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, int root,
                                 const CallOptions& options) const {
    DLAUNCH_START(gather_call(group, Op::gather, in, out, one_each(group, Op::gather, counts), root));
}

void ProcessGroup::scatter(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) const {
    DLAUNCH_RUN(scatter_call(group, Op::scatter, in, out, {}, root));
}
Work ProcessGroup::scatter_async(AsyncConstBuffer in, MutableBuffer out, int root, const CallOptions& options) const {
    DLAUNCH_START(scatter_call(group, Op::scatter, in, out, {}, root));
}
void ProcessGroup::scatterv(ConstBuffer in, MutableBuffer out, Counts counts, int root,
                            const CallOptions& options) const {
    DLAUNCH_RUN(scatter_call(group, Op::scatter, in, out, one_each(group, Op::scatter, counts), root));
}
Work ProcessGroup::scatterv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, int root,
                                  const CallOptions& options) const {
    DLAUNCH_START(scatter_call(group, Op::scatter, in, out, one_each(group, Op::scatter, counts), root));
}

void ProcessGroup::all_gather(ConstBuffer in, MutableBuffer out, const CallOptions& options) const {
    DLAUNCH_RUN(gather_call(group, Op::all_gather, in, out, {}, -1));
}
Work ProcessGroup::all_gather_async(AsyncConstBuffer in, MutableBuffer out, const CallOptions& options) const {
    DLAUNCH_START(gather_call(group, Op::all_gather, in, out, {}, -1));
}
void ProcessGroup::all_gatherv(ConstBuffer in, MutableBuffer out, Counts counts, const CallOptions& options) const {
    DLAUNCH_RUN(gather_call(group, Op::all_gather, in, out, one_each(group, Op::all_gather, counts), -1));
}
Work ProcessGroup::all_gatherv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts,
                                     const CallOptions& options) const {
    DLAUNCH_START(gather_call(group, Op::all_gather, in, out, one_each(group, Op::all_gather, counts), -1));
}

void ProcessGroup::reduce_scatter(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                                  const CallOptions& options) const {
    DLAUNCH_RUN(scatter_call(group, Op::reduce_scatter, in, out, {}, -1, op));
}
Work ProcessGroup::reduce_scatter_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                                        const CallOptions& options) const {
    DLAUNCH_START(scatter_call(group, Op::reduce_scatter, in, out, {}, -1, op));
}
void ProcessGroup::reduce_scatterv(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, Counts counts, ReduceOp op,
                                   const CallOptions& options) const {
    DLAUNCH_RUN(scatter_call(group, Op::reduce_scatter, in, out, one_each(group, Op::reduce_scatter, counts), -1, op));
}
Work ProcessGroup::reduce_scatterv_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, Counts counts,
                                         ReduceOp op, const CallOptions& options) const {
    DLAUNCH_START(
        scatter_call(group, Op::reduce_scatter, in, out, one_each(group, Op::reduce_scatter, counts), -1, op));
}

void ProcessGroup::scan(Numbers<MutableBuffer> data, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::scan, data, data, -1, op));
}
void ProcessGroup::scan(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                        const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::scan, in, out, -1, op));
}
Work ProcessGroup::scan_async(Numbers<MutableBuffer> data, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::scan, data, data, -1, op));
}
Work ProcessGroup::scan_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                              const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::scan, in, out, -1, op));
}

void ProcessGroup::exscan(Numbers<MutableBuffer> data, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::exscan, data, data, -1, op));
}
void ProcessGroup::exscan(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                          const CallOptions& options) const {
    DLAUNCH_RUN(reduce_call(group, Op::exscan, in, out, -1, op));
}
Work ProcessGroup::exscan_async(Numbers<MutableBuffer> data, ReduceOp op, const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::exscan, data, data, -1, op));
}
Work ProcessGroup::exscan_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op,
                                const CallOptions& options) const {
    DLAUNCH_START(reduce_call(group, Op::exscan, in, out, -1, op));
}

void ProcessGroup::all_to_all(ConstBuffer in, MutableBuffer out, const CallOptions& options) const {
    DLAUNCH_RUN(all_to_all_call(group, in, out));
}
Work ProcessGroup::all_to_all_async(AsyncConstBuffer in, MutableBuffer out, const CallOptions& options) const {
    DLAUNCH_START(all_to_all_call(group, in, out));
}
void ProcessGroup::all_to_allv(ConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                               const CallOptions& options) const {
    DLAUNCH_RUN(all_to_allv_call(group, in, in_counts, out, out_counts));
}
Work ProcessGroup::all_to_allv_async(AsyncConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                                     const CallOptions& options) const {
    DLAUNCH_START(all_to_allv_call(group, in, in_counts, out, out_counts));
}

void ProcessGroup::broadcast_coalesced(std::span<const MutableBuffer> arrays, int root,
                                       const CallOptions& options) const {
    DLAUNCH_RUN(coalesced_call(group, Op::broadcast, arrays, root, ReduceOp::sum()));
}
Work ProcessGroup::broadcast_coalesced_async(std::span<const MutableBuffer> arrays, int root,
                                             const CallOptions& options) const {
    DLAUNCH_START(coalesced_call(group, Op::broadcast, arrays, root, ReduceOp::sum()));
}
void ProcessGroup::all_reduce_coalesced(std::span<const MutableBuffer> arrays, ReduceOp op,
                                        const CallOptions& options) const {
    DLAUNCH_RUN(coalesced_call(group, Op::all_reduce, arrays, -1, op));
}
Work ProcessGroup::all_reduce_coalesced_async(std::span<const MutableBuffer> arrays, ReduceOp op,
                                              const CallOptions& options) const {
    DLAUNCH_START(coalesced_call(group, Op::all_reduce, arrays, -1, op));
}

// --- reductions by a function of the program -------------------------------------------------------------------------

void ProcessGroup::all_reduce_by(MutableBuffer data, const detail::Combination& fn, const CallOptions& options) const {
    DLAUNCH_RUN(combine_call(group, Op::all_reduce, data, -1, fn));
}
void ProcessGroup::reduce_by(MutableBuffer data, int root, const detail::Combination& fn,
                             const CallOptions& options) const {
    DLAUNCH_RUN(combine_call(group, Op::reduce, data, root, fn));
}
void ProcessGroup::scan_by(MutableBuffer data, const detail::Combination& fn, const CallOptions& options) const {
    DLAUNCH_RUN(combine_call(group, Op::scan, data, -1, fn));
}
void ProcessGroup::exscan_by(MutableBuffer data, const detail::Combination& fn, const CallOptions& options) const {
    DLAUNCH_RUN(combine_call(group, Op::exscan, data, -1, fn));
}

}  // namespace dlaunch
