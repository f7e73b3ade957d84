/// Every rank shuffles 60000 indexes with the same seed and keeps its part; a batch of 128 is spread over all ranks.
/// Prints, on rank 0, `rank 0: default [42000, 12000, 6000]`, the default shares; `rank r: p samples in batches of b, c
/// batches`; and on rank 0 `rank 0: np samples used once, 0 used twice`.

#include <dlaunch/dlaunch.hpp>

#include <algorithm>
#include <cstdint>

#include "examples/partition.hpp"
#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    constexpr std::size_t kSamples = 60000;
    if (rank == 0) {
        const Partitioner usual(kSamples);
        print("rank 0: default ", list(std::vector{usual.part(0).size(), usual.part(1).size(), usual.part(2).size()}));
    }
    const Partitioner partition = Partitioner::equal(kSamples, ranks);
    const auto part = partition.part(rank);
    const std::size_t batch = batch_size(ranks), batches = (part.size() + batch - 1) / batch;
    print("rank ", rank, ": ", part.size(), " samples in batches of ", batch, ", ", batches, " batches");

    std::vector<std::int32_t> used(kSamples);
    for (std::size_t i = 0; i < batches; ++i)
        for (const std::size_t index : batch_of(part, i, batch)) ++used[index];
    dlaunch::reduce(used, 0);
    if (rank == 0)
        print("rank 0: ", std::ranges::count(used, 1), " samples used once, ",
              std::ranges::count_if(used, [](auto n) { return n > 1; }), " used twice");
}
