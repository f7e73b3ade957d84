/// A reduce in a group of all ranks: the root gets the sum, the data of other ranks is unchanged. Prints `[r] data =
/// v`.

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
    group.reduce(data, 0);
    print("[", rank, "] data = ", data);
}
