/// scatter: rank 0 sends a number to each rank. Prints `before rank r: [0]` and `after rank r: [10(r+1)]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<float> own(1);
    std::vector<float> parts;
    for (int r = 0; rank == 0 && r < ranks; ++r) parts.push_back(static_cast<float>(10 * (r + 1)));
    print("before rank ", rank, ": ", list(own));
    dlaunch::scatter(parts, own, 0);
    print("after rank ", rank, ": ", list(own));
}
