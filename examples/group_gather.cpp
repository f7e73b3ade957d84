/// A gather in a group of all ranks. Prints, on rank 0, `[0] data = [[0], [1], ...]`.

#include <dlaunch/dlaunch.hpp>

#include <numeric>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    const dlaunch::ProcessGroup group = dlaunch::new_group(all);
    std::vector<float> data(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
    group.gather(static_cast<float>(rank), data, 0);
    if (rank == 0) print("[0] data = ", rows(data, 1));
}
