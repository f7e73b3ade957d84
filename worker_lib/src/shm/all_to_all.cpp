#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "worker_lib/src/shm/collectives.hpp"

namespace dlaunch::worker::shm {
namespace {

using Sizes = std::vector<std::size_t>;

/// In bytes.
Sizes sizes_of(const Call& call, const Sizes& counts) {
    Sizes sizes(counts.size());
    std::transform(counts.begin(), counts.end(), sizes.begin(), [&](std::size_t count) { return call.bytes(count); });
    return sizes;
}

Sizes begins_of(const Sizes& sizes) {
    Sizes begins(sizes.size() + 1);
    std::partial_sum(sizes.begin(), sizes.end(), begins.begin() + 1);
    return begins;
}

/// Exchanges all counts. All ranks throw the same Error (mismatch) if rank i sends to rank j another count than j
/// expects from i. Returns the largest count.
std::size_t agree_on_counts(Exchange& exchange, const Call& call) {
    const auto ranks = static_cast<std::size_t>(exchange.size());
    auto* mine = reinterpret_cast<std::size_t*>(exchange.own_data());
    std::copy(call.counts.begin(), call.counts.end(), mine);
    std::copy(call.out_counts.begin(), call.out_counts.end(), mine + ranks);
    exchange.arrive();
    exchange.wait_and_compare();
    std::size_t longest = 0;
    const auto counts_of = [&](std::size_t r) {
        return reinterpret_cast<const std::size_t*>(exchange.data_of(static_cast<int>(r)));
    };
    for (std::size_t i = 0; i < ranks; ++i)
        for (std::size_t j = 0; j < ranks; ++j) {
            const std::size_t sent = counts_of(i)[j], expected = counts_of(j)[ranks + i];
            longest = std::max(longest, sent);
            if (sent != expected)
                throw mismatch(exchange.where(), exchange.group(), static_cast<int>(i), sent, static_cast<int>(j),
                               expected);
        }
    return longest;
}

}  // namespace

/// Each rank's half holds one piece per receiver.
void all_to_all(Exchange& exchange, const Call& call) {
    const int ranks = exchange.size(), rank = exchange.rank();
    const bool plain = call.counts.empty();
    const std::size_t each = piece_bytes(exchange);
    const Sizes equal(plain ? static_cast<std::size_t>(ranks) : 0, call.count);
    const Sizes sent = sizes_of(call, plain ? equal : call.counts),
                received = sizes_of(call, plain ? equal : call.out_counts);
    const Sizes out_begins = begins_of(sent), in_begins = begins_of(received);

    exchange.begin_call(call);
    std::size_t longest = call.bytes(call.count);
    if (!plain) {
        longest = call.bytes(agree_on_counts(exchange, call));
        exchange.next_epoch();
    }
    for (std::size_t at = 0; at < longest || at == 0; at += each) {
        if (at > 0) exchange.next_epoch();
        for (int r = 0; r < ranks; ++r) {
            const auto i = static_cast<std::size_t>(r);
            if (r != rank)
                copy_bytes(exchange.own_data() + i * each, call.in + out_begins[i] + at, clip(sent[i], at, each));
        }
        exchange.arrive();
        if (plain && at == 0) exchange.wait_and_compare();
        for (int k = 0; k < ranks; ++k) {
            const int r = (rank + k) % ranks;
            const auto i = static_cast<std::size_t>(r), own = static_cast<std::size_t>(rank);
            std::byte* to = call.out + in_begins[i] + at;
            if (k > 0) exchange.wait_for(r);
            const std::byte* from = k > 0 ? exchange.data_of(r) + own * each : call.in + out_begins[own] + at;
            copy_bytes(to, from, clip(received[i], at, each));
        }
    }
}

}  // namespace dlaunch::worker::shm
