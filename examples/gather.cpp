/// gather: rank 0 gets the numbers of all ranks, in rank order. Prints, on rank 0, `rank 0: [[0], [1], ...]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const auto own = static_cast<float>(rank);
    std::vector<float> all(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
    dlaunch::gather(own, all, 0);
    if (rank == 0) print("rank 0: ", rows(all, 1));
}
