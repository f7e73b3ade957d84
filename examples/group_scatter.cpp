/// A scatter in a group of all ranks. Prints `[r] data = r+1`.

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
    std::vector<float> parts(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
    std::iota(parts.begin(), parts.end(), 1.0F);
    float data = 0;
    group.scatter(parts, data, 0);
    print("[", rank, "] data = ", data);
}
