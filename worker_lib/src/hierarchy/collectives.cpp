/// Two-level collectives. Each byte crosses between two hosts once, and all planes transfer concurrently.
///
///   all_reduce       per host: reduce_scatter, one slice per plane; per plane: all_reduce; per host: all_gather
///   reduce           per host: reduce_scatter; per plane: reduce to the root's host; there: gather to the root
///   broadcast        on the root's host: broadcast; per plane: broadcast of a slice; on the other hosts: all_gather
///   all_gather       per plane: all_gather of its ranks' blocks; per host: all_gather of the planes' results
///   reduce_scatter   per host: reduce_scatter, one block per host of the plane; per plane: reduce_scatter
///   gather, scatter, all_to_all, scan, exscan, reductions by a function    directly between the ranks
///
/// all_gather and reduce_scatter work like this if all hosts have equally many consecutive ranks. In other layouts a
/// plane carries a slice of each host's blocks instead (blocks.hpp); the blocks are packed before the transfer and
/// unpacked after it.
///
/// Sums are formed in the order of a host's ranks, then of the hosts: the same on all ranks and for all sizes.

#include "worker_lib/src/hierarchy/collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

#include "worker_lib/src/hierarchy/agreement.hpp"
#include "worker_lib/src/hierarchy/blocks.hpp"
#include "worker_lib/src/reduce/half.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

class Collective {
public:
    Collective(Levels& levels, const Call& call)
        : levels_(levels), layout_(levels.layout), call_(call), element_(size_of(call.type)) {}

    void run() {
        if (call_.function) return levels_.everywhere(call_);
        switch (call_.op) {
            case Op::barrier: return;
            case Op::all_reduce: return all_reduce();
            case Op::reduce: return reduce();
            case Op::broadcast: return broadcast();
            case Op::all_gather: return all_gather();
            case Op::reduce_scatter: return reduce_scatter();
            case Op::gather:
            case Op::scatter:
            case Op::all_to_all:
            case Op::scan:
            case Op::exscan: return levels_.everywhere(call_);
        }
    }

private:
    /// Uninitialized memory.
    struct Buffer {
        explicit Buffer(std::size_t size) : data(new std::byte[size]) {}
        [[nodiscard]] std::byte* get() const { return data.get(); }
        std::unique_ptr<std::byte[]> data;
    };

    [[nodiscard]] bool is_on_host(int rank) const {
        return layout_.host_of[static_cast<std::size_t>(rank)] == levels_.host;
    }
    [[nodiscard]] int local_of(int rank) const { return layout_.local_of[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] int host_of(int rank) const { return layout_.host_of[static_cast<std::size_t>(rank)]; }

    [[nodiscard]] Call step(Op op, const std::byte* in, std::byte* out) const {
        Call made;
        made.op = op;
        made.type = call_.type;
        made.in = in;
        made.out = out;
        return made;
    }

    /// The slice of the call's elements that this rank's plane carries; empty for a rank without a plane.
    [[nodiscard]] Range slice() const {
        return levels_.has_plane() ? share(call_.count, layout_.planes, levels_.local) : Range{call_.count, 0};
    }
    [[nodiscard]] Counts slices() const {
        Counts counts(static_cast<std::size_t>(levels_.local_size));
        for (int i = 0; i < layout_.planes; ++i)
            counts[static_cast<std::size_t>(i)] = share(call_.count, layout_.planes, i).size;
        return counts;
    }

    /// reduce_scatter among the host's ranks.
    void reduce_scatter_on_host(const std::byte* in, std::byte* out, Counts counts) {
        Call made = step(Op::reduce_scatter, in, out);
        made.reduce = on_host(call_.reduce);
        made.counts = std::move(counts);
        levels_.on_host(std::move(made), 0);
    }
    /// all_gather among the host's ranks; gather with a root.
    void gather_on_host(const std::byte* in, std::byte* out, Counts counts, int root = -1) {
        Call made = step(root < 0 ? Op::all_gather : Op::gather, in, out);
        made.count = counts[static_cast<std::size_t>(levels_.local)];
        made.counts = std::move(counts);
        made.root = root;
        levels_.on_host(std::move(made), 2);
    }

    void all_reduce() {
        const Range mine = slice();
        std::byte* part = call_.out + mine.begin * element_;
        reduce_scatter_on_host(call_.in, part, slices());
        if (levels_.has_plane()) sum_on_plane(Op::all_reduce, part, mine.size, -1);
        gather_on_host(part, call_.out, slices());
    }

    void reduce() {
        const Range mine = slice();
        const Buffer part(mine.size * element_);
        reduce_scatter_on_host(call_.in, part.get(), slices());
        if (levels_.has_plane()) sum_on_plane(Op::reduce, part.get(), mine.size, host_of(call_.root));
        if (is_on_host(call_.root)) gather_on_host(part.get(), call_.out, slices(), local_of(call_.root));
    }

    void sum_on_plane(Op op, std::byte* data, std::size_t count, int root) {
        Call made = step(op, data, data);
        made.reduce = between_hosts(call_.reduce);
        made.count = count;
        made.root = root;
        levels_.between_hosts(std::move(made));
        finish(call_, static_cast<int>(layout_.host_of.size()), data, count);
    }

    void broadcast() {
        if (is_on_host(call_.root)) {
            Call made = step(Op::broadcast, call_.out, call_.out);
            made.count = call_.count;
            made.root = local_of(call_.root);
            levels_.on_host(std::move(made), 0);
        }
        const Range mine = slice();
        std::byte* part = call_.out + mine.begin * element_;
        if (levels_.has_plane()) {
            Call made = step(Op::broadcast, part, part);
            made.count = mine.size;
            made.root = host_of(call_.root);
            levels_.between_hosts(std::move(made));
        }
        if (!is_on_host(call_.root)) gather_on_host(part, call_.out, slices());
    }

    // --- one block per rank, regular layout ---

    [[nodiscard]] Counts counts_on(int host) const {
        Counts counts;
        for (const int r : layout_.on(host)) counts.push_back(call_.count_of(r));
        return counts;
    }
    [[nodiscard]] Counts counts_on_plane() const {
        Counts counts;
        for (const int r : layout_.plane(levels_.local)) counts.push_back(call_.count_of(r));
        return counts;
    }

    void all_gather() {
        if (!layout_.regular) return all_gather_slices();
        const Counts counts = counts_on_plane();
        const Buffer gathered(sum(counts) * element_);
        Call exchange = step(Op::all_gather, call_.in, gathered.get());
        exchange.count = call_.count_of(levels_.rank);
        exchange.counts = counts;
        levels_.between_hosts(std::move(exchange));
        const std::byte* in = gathered.get();
        std::byte* out = call_.out;
        for (int h = 0; h < layout_.hosts(); ++h) {
            const Counts there = counts_on(h);
            gather_on_host(in, out, there);
            in += counts[static_cast<std::size_t>(h)] * element_;
            out += sum(there) * element_;
        }
    }

    void reduce_scatter() {
        if (!layout_.regular) return reduce_scatter_slices();
        const Counts counts = counts_on_plane();
        const Buffer sums(sum(counts) * element_);
        const std::byte* in = call_.in;
        std::byte* out = sums.get();
        for (int h = 0; h < layout_.hosts(); ++h) {
            const Counts there = counts_on(h);
            reduce_scatter_on_host(in, out, there);
            in += sum(there) * element_;
            out += counts[static_cast<std::size_t>(h)] * element_;
        }
        reduce_scatter_on_plane(sums.get(), call_.out, counts);
    }

    void reduce_scatter_on_plane(const std::byte* in, std::byte* out, Counts counts) {
        const std::size_t own = counts[static_cast<std::size_t>(levels_.host)];
        Call exchange = step(Op::reduce_scatter, in, out);
        exchange.reduce = between_hosts(call_.reduce);
        exchange.counts = std::move(counts);
        levels_.between_hosts(std::move(exchange));
        finish(call_, static_cast<int>(layout_.host_of.size()), out, own);
    }

    // --- one block per rank, any layout ---

    [[nodiscard]] Counts on_own_plane(const Blocks& blocks) const {
        Counts counts;
        for (int h = 0; h < layout_.hosts(); ++h) counts.push_back(blocks.on_plane(levels_.local, h));
        return counts;
    }

    void all_gather_slices() {
        const Blocks blocks(layout_, call_);
        const Buffer here(blocks.of_host(levels_.host) * element_);
        gather_on_host(call_.in, here.get(), counts_on(levels_.host));

        const Counts by_plane = blocks.by_plane(levels_.local_size);
        const Buffer gathered(by_plane[static_cast<std::size_t>(levels_.local)] * element_),
            all(sum(by_plane) * element_);
        if (levels_.has_plane()) {
            const Range mine = share(blocks.of_host(levels_.host), layout_.planes, levels_.local);
            Call exchange = step(Op::all_gather, here.get() + mine.begin * element_, gathered.get());
            exchange.count = mine.size;
            exchange.counts = on_own_plane(blocks);
            levels_.between_hosts(std::move(exchange));
        }
        gather_on_host(gathered.get(), all.get(), by_plane);
        const std::byte* at = all.get();
        for (int i = 0; i < layout_.planes; ++i)
            for (int h = 0; h < layout_.hosts(); at += blocks.on_plane(i, h++) * element_)
                blocks.unpack(at, i, h, call_.out);
    }

    void reduce_scatter_slices() {
        const Blocks blocks(layout_, call_);
        const Counts by_plane = blocks.by_plane(levels_.local_size);
        const Buffer packed(sum(by_plane) * element_),
            of_plane(by_plane[static_cast<std::size_t>(levels_.local)] * element_);
        std::byte* at = packed.get();
        for (int i = 0; i < layout_.planes; ++i)
            for (int h = 0; h < layout_.hosts(); at += blocks.on_plane(i, h++) * element_)
                blocks.pack(call_.in, i, h, at);
        reduce_scatter_on_host(packed.get(), of_plane.get(), by_plane);

        Counts counts(static_cast<std::size_t>(levels_.local_size));
        for (int i = 0; i < layout_.planes; ++i) counts[static_cast<std::size_t>(i)] = blocks.on_plane(i, levels_.host);
        const Buffer part(counts[static_cast<std::size_t>(levels_.local)] * element_), here(sum(counts) * element_);
        if (levels_.has_plane()) reduce_scatter_on_plane(of_plane.get(), part.get(), on_own_plane(blocks));
        gather_on_host(part.get(), here.get(), counts);
        const Counts sizes = counts_on(levels_.host);
        const std::size_t before = std::accumulate(sizes.begin(), sizes.begin() + levels_.local, std::size_t{0});
        if (const std::size_t bytes = call_.bytes(call_.count_of(levels_.rank)); bytes > 0)
            std::memcpy(call_.out, here.get() + before * element_, bytes);
    }

    static std::size_t sum(const Counts& counts) {
        return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    }

    Levels& levels_;
    const Layout& layout_;
    const Call& call_;
    const std::size_t element_;
};

void run_wide(Levels& levels, const Call& call, const Call& wide, const GroupInfo& group) {
    levels.begin_call(call);
    if (!agree(levels, call, wide, group)) Collective(levels, wide).run();
}

/// Accumulates in a wider type and rounds or narrows once, at the end. T: the type of the elements.
template <class T, class W, class Widen, class Narrow>
void run_wider(Levels& levels, const Call& call, const GroupInfo& group, Widen widen, Narrow narrow) {
    const Extent elements = extent(call, levels.rank, static_cast<int>(levels.layout.host_of.size()));
    std::vector<W> in(elements.in), out(elements.out);
    std::transform(reinterpret_cast<const T*>(call.in), reinterpret_cast<const T*>(call.in) + elements.in, in.begin(),
                   widen);
    Call wide = call;
    wide.type = kElementTypeOf<W>;
    wide.in = reinterpret_cast<const std::byte*>(in.data());
    wide.out = reinterpret_cast<std::byte*>(out.data());
    run_wide(levels, call, wide, group);
    std::transform(out.begin(), out.end(), reinterpret_cast<T*>(call.out), narrow);
}

template <class T>
void run_exact(Levels& levels, const Call& call, const GroupInfo& group) {
    run_wider<T, std::int64_t>(
        levels, call, group, [](T value) { return std::int64_t{value}; },
        [](std::int64_t value) { return static_cast<T>(value); });
}

/// 16-bit floats are accumulated in float, averages of short integers in 64 bits.
void run_reduction(Levels& levels, const Call& call, const GroupInfo& group) {
    using Kind = ReduceOp::Kind;
    if (call.function || call.op == Op::scan || call.op == Op::exscan) return run_wide(levels, call, call, group);
    const Kind kind = call.reduce.kind();
    const bool rounds = kind != Kind::min && kind != Kind::max, averages = kind == Kind::avg;
    switch (call.type.kind()) {
        case DType::float16:
            if (rounds) return run_wider<std::uint16_t, float>(levels, call, group, float_from_half, half_from_float);
            break;
        case DType::bfloat16:
            if (rounds)
                return run_wider<std::uint16_t, float>(
                    levels, call, group,
                    [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); },
                    bfloat_from_float);
            break;
        case DType::int8:
            if (averages) return run_exact<std::int8_t>(levels, call, group);
            break;
        case DType::uint8:
            if (averages) return run_exact<std::uint8_t>(levels, call, group);
            break;
        case DType::int16:
            if (averages) return run_exact<std::int16_t>(levels, call, group);
            break;
        case DType::uint16:
            if (averages) return run_exact<std::uint16_t>(levels, call, group);
            break;
        default: break;
    }
    run_wide(levels, call, call, group);
}

}  // namespace

void run_collective(Levels& levels, const Call& call, const GroupInfo& group) {
    reduces(call.op) ? run_reduction(levels, call, group) : run_wide(levels, call, call, group);
}

}  // namespace dlaunch::worker::hierarchy
