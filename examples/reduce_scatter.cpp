/// reduce_scatter: each rank gets its block of the sum of all ranks' vectors. Rank r contributes r [1, 10, 100, ...].
/// Prints `rank r: [10^r n(n-1)/2]`.

#include <dlaunch/dlaunch.hpp>

#include <cstdint>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<std::int64_t> input;
    for (std::int64_t power = 1; input.size() < static_cast<std::size_t>(ranks); power *= 10)
        input.push_back(rank * power);
    std::vector<std::int64_t> own(1);
    dlaunch::reduce_scatter(input, own);
    print("rank ", rank, ": ", list(own));
}
