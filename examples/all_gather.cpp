/// all_gather: every rank gets the numbers of all ranks, in rank order. Prints `rank r: [[0], [1], ...]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const auto own = static_cast<float>(rank);
    std::vector<float> all(static_cast<std::size_t>(ranks));
    dlaunch::all_gather(own, all);
    print("rank ", rank, ": ", rows(all, 1));
}
