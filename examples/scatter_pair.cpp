/// scatter: rank 0 sends two numbers to each rank. Prints `Rank r has data [2r, 2r+1]`.

#include <dlaunch/dlaunch.hpp>

#include <numeric>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<float> whole(rank == 0 ? 2 * static_cast<std::size_t>(ranks) : 0), own(2);
    std::iota(whole.begin(), whole.end(), 0.0F);
    dlaunch::scatter(whole, own, 0);
    print("Rank ", rank, " has data ", list(own));
}
