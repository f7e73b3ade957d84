/// Reductions, by two algorithms. The second is reduce-scatter followed by all-gather (Patarasu and Yuan).
///
/// One-shot, for small data: every rank publishes its whole input, and every rank that needs the result combines all
/// inputs. One step, n times the arithmetic.
///
/// Two-shot: each rank owns a slice. A rank publishes the slices of its peers, combines its own slice from its private
/// input and the peers' slots, and publishes the result in the same half by a second step; the peers copy it. Private
/// memory is read once and written once, and the halves stay in the cache.
///
/// Both algorithms combine in rank order, so that their results are bitwise equal on all ranks and for all sizes.

#include <cstring>

#include "worker_lib/src/reduce/combine.hpp"
#include "worker_lib/src/shm/collectives.hpp"

namespace dlaunch::worker::shm {
namespace {

/// Limits from 1 to 16 KiB measure the same; 64 KiB is 2.6 times slower with two ranks.
constexpr std::size_t kOneShotBytes = 16 << 10;

struct Reducer {
    Exchange& exchange;
    const Call& call;

    /// Combines the slots' bytes from `at` on into `out`, with `own` as this rank's input.
    void operator()(void* out, const void* own, std::size_t at, std::size_t count) const {
        if (count == 0) return;
        const int ranks = exchange.size();
        auto& inputs = exchange.inputs();
        for (int r = 0; r < ranks; ++r)
            inputs[static_cast<std::size_t>(r)] = r == exchange.rank() ? own : exchange.data_of(r) + at;
        combine(call, out, inputs.data(), ranks, count, ranks);
    }
};

bool wants(const Exchange& exchange, const Call& call) { return call.root < 0 || call.root == exchange.rank(); }

void one_shot(Exchange& exchange, const Call& call) {
    exchange.begin_call(call, call.bytes(call.count));
    copy_bytes(exchange.own_data(), call.in, call.bytes(call.count));
    exchange.arrive();
    exchange.wait_and_compare();
    if (wants(exchange, call)) Reducer{exchange, call}(call.out, call.in, 0, call.count);
}

void two_shot(Exchange& exchange, const Call& call) {
    const int ranks = exchange.size(), rank = exchange.rank();
    const std::size_t element = size_of(call.type), most = exchange.half_bytes() / element;
    const bool wanted = wants(exchange, call);
    const Reducer reduce{exchange, call};
    for (std::size_t at = 0; at < call.count; at += most) {
        const Slices slices(clip(call.count, at, most), ranks, element);
        const std::size_t begin = slices.begin(rank) * element, end = slices.end(rank) * element;
        const std::byte* in = call.in + at * element;
        at == 0 ? exchange.begin_call(call) : exchange.next_epoch();
        std::byte* mine = exchange.own_data();
        copy_bytes(mine, in, begin);
        copy_bytes(mine + end, in + end, slices.count * element - end);
        exchange.arrive();
        at == 0 ? exchange.wait_and_compare() : exchange.wait_all();

        std::byte* result = wanted ? call.out + at * element : mine;
        reduce(result + begin, in + begin, begin, slices.size(rank));
        if (call.root < 0) copy_bytes(mine + begin, result + begin, end - begin);
        exchange.arrive();
        for (int i = 1; wanted && i < ranks; ++i) {
            const int r = (rank + i) % ranks;
            exchange.wait_for(r);
            copy_bytes(result + slices.begin(r) * element, exchange.data_of(r) + slices.begin(r) * element,
                       slices.size(r) * element);
        }
    }
}

}  // namespace

void all_reduce(Exchange& exchange, const Call& call) {
    call.bytes(call.count) <= kOneShotBytes ? one_shot(exchange, call) : two_shot(exchange, call);
}

void reduce(Exchange& exchange, const Call& call) { all_reduce(exchange, call); }

/// The first half of the two-shot algorithm; the slices are the ranks' blocks, in pieces.
void reduce_scatter(Exchange& exchange, const Call& call) {
    const int ranks = exchange.size(), rank = exchange.rank();
    const std::size_t each = piece_bytes(exchange), count = rounds(call, ranks, each);
    const auto begins = offsets(call, ranks);
    const Reducer reduce{exchange, call};
    const auto size = [&](int r, std::size_t at) { return clip(call.bytes(call.count_of(r)), at, each); };
    for (std::size_t round = 0; round < count; ++round) {
        const std::size_t at = round * each;
        round == 0 ? exchange.begin_call(call) : exchange.next_epoch();
        const auto part = [&](int r) { return call.in + begins[static_cast<std::size_t>(r)] + at; };
        for (int r = 0; r < ranks; ++r)
            if (r != rank) copy_bytes(exchange.own_data() + static_cast<std::size_t>(r) * each, part(r), size(r, at));
        exchange.arrive();
        round == 0 ? exchange.wait_and_compare() : exchange.wait_all();
        reduce(call.out + at, part(rank), static_cast<std::size_t>(rank) * each, size(rank, at) / size_of(call.type));
    }
}

/// Every rank publishes its input, in pieces of one half, and combines those of the ranks up to itself.
void scan(Exchange& exchange, const Call& call) {
    const int rank = exchange.rank(), inputs = call.op == Op::scan ? rank + 1 : rank;
    const std::size_t element = size_of(call.type), each = exchange.half_bytes() / element * element;
    const std::size_t bytes = call.bytes(call.count);
    for (std::size_t at = 0; at < bytes || at == 0; at += each) {
        const std::size_t size = clip(bytes, at, each);
        at == 0 ? exchange.begin_call(call, bytes) : exchange.next_epoch();
        copy_bytes(exchange.own_data(), call.in + at, size);
        exchange.arrive();
        if (at == 0) exchange.wait_and_compare();
        for (int r = 0; r < inputs; ++r) {
            if (r != rank) exchange.wait_for(r);
            exchange.inputs()[static_cast<std::size_t>(r)] = r == rank ? call.in + at : exchange.data_of(r);
        }
        if (inputs > 0) combine(call, call.out + at, exchange.inputs().data(), inputs, size / element, inputs);
    }
}

void exscan(Exchange& exchange, const Call& call) { scan(exchange, call); }

}  // namespace dlaunch::worker::shm
