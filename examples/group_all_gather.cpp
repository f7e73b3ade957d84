/// An all-gather in a group of all ranks. Prints `[r] data = [[0], [1], ...]`.

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
    std::vector<float> data(static_cast<std::size_t>(ranks));
    group.all_gather(static_cast<float>(rank), data);
    print("[", rank, "] data = ", rows(data, 1));
}
