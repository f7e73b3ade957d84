#include "worker_lib/src/shm/collectives.hpp"

#include <algorithm>
#include <cstring>

namespace dlaunch::worker::shm {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes) {
    if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

Slices::Slices(std::size_t elements, int ranks, std::size_t element_bytes) : count(elements) {
    const std::size_t line = std::max<std::size_t>(1, kCacheLine / element_bytes),
                      share = (elements + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
    each = (share + line - 1) / line * line;
}

std::size_t piece_bytes(const Exchange& exchange) {
    return exchange.half_bytes() / static_cast<std::size_t>(exchange.size()) / kCacheLine * kCacheLine;
}

std::vector<std::size_t> offsets(const Call& call, int ranks) {
    std::vector<std::size_t> begins(static_cast<std::size_t>(ranks) + 1);
    for (int r = 0; r < ranks; ++r)
        begins[static_cast<std::size_t>(r) + 1] = begins[static_cast<std::size_t>(r)] + call.bytes(call.count_of(r));
    return begins;
}

std::size_t rounds(const Call& call, int ranks, std::size_t each) {
    std::size_t longest = 0;
    for (int r = 0; r < ranks; ++r) longest = std::max(longest, call.bytes(call.count_of(r)));
    return std::max<std::size_t>(1, (longest + each - 1) / each);
}

void barrier(Exchange& exchange, const Call& call) {
    exchange.begin_call(call);
    exchange.arrive();
    exchange.wait_and_compare();
}

/// Double buffering: the root fills one half while the other ranks read the other half. The root waits only before it
/// reuses a half.
void broadcast(Exchange& exchange, const Call& call) {
    const std::size_t bytes = call.bytes(call.count), half = exchange.half_bytes();
    const bool root = exchange.rank() == call.root;
    for (std::size_t at = 0; at < bytes || at == 0; at += half) {
        const std::size_t size = clip(bytes, at, half);
        at == 0 ? exchange.begin_call(call, bytes) : exchange.next_epoch();
        if (root) copy_bytes(exchange.own_data(), call.in + at, size);
        exchange.arrive();
        if (at == 0) exchange.wait_and_compare();
        if (root) continue;
        exchange.wait_for(call.root);
        copy_bytes(call.out + at, exchange.data_of(call.root), size);
    }
}

/// Each rank publishes its block in pieces of one half; receiving ranks copy the pieces of all peers.
void gather(Exchange& exchange, const Call& call) {
    const int ranks = exchange.size(), rank = exchange.rank();
    const std::size_t each = exchange.half_bytes(), count = rounds(call, ranks, each);
    const std::size_t mine = call.bytes(call.count_of(rank));
    const bool receives = call.op == Op::all_gather || rank == call.root;
    const auto begins = offsets(call, ranks);
    const std::size_t most = call.counts.empty() ? call.bytes(call.count) : SIZE_MAX;
    for (std::size_t round = 0; round < count; ++round) {
        const std::size_t at = round * each;
        round == 0 ? exchange.begin_call(call, most) : exchange.next_epoch();
        if (call.op == Op::all_gather || !receives) copy_bytes(exchange.own_data(), call.in + at, clip(mine, at, each));
        exchange.arrive();
        if (round == 0) exchange.wait_and_compare();
        if (!receives) continue;
        for (int i = 0; i < ranks; ++i) {
            const int r = (rank + i) % ranks;
            std::byte* to = call.out + begins[static_cast<std::size_t>(r)] + at;
            if (i > 0) exchange.wait_for(r);
            copy_bytes(to, i == 0 ? call.in + at : exchange.data_of(r), clip(call.bytes(call.count_of(r)), at, each));
        }
    }
}

void all_gather(Exchange& exchange, const Call& call) { gather(exchange, call); }

/// The root's half holds one piece per rank.
void scatter(Exchange& exchange, const Call& call) {
    const int ranks = exchange.size(), rank = exchange.rank();
    const std::size_t each = piece_bytes(exchange), count = rounds(call, ranks, each);
    const bool root = rank == call.root;
    const auto begins = offsets(call, ranks);
    const auto piece = [&](int r, std::size_t at) { return clip(call.bytes(call.count_of(r)), at, each); };
    for (std::size_t round = 0; round < count; ++round) {
        const std::size_t at = round * each;
        round == 0 ? exchange.begin_call(call) : exchange.next_epoch();
        for (int r = 0; root && r < ranks; ++r) {
            const std::byte* from = call.in + begins[static_cast<std::size_t>(r)] + at;
            std::byte* to = r == rank ? call.out + at : exchange.own_data() + static_cast<std::size_t>(r) * each;
            copy_bytes(to, from, piece(r, at));
        }
        exchange.arrive();
        if (round == 0) exchange.wait_and_compare();
        if (root) continue;
        exchange.wait_for(call.root);
        copy_bytes(call.out + at, exchange.data_of(call.root) + static_cast<std::size_t>(rank) * each, piece(rank, at));
    }
}

}  // namespace dlaunch::worker::shm
