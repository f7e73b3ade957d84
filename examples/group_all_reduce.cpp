/// An all-reduce in a group of all ranks. Prints `[r] data = n`.

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
    float data = 1;
    group.all_reduce(data);
    print("[", rank, "] data = ", data);
}
