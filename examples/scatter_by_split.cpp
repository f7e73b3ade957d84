/// A scatter without communication: every rank has the whole array and keeps its block. Prints `after rank r:
/// [10(r+1)]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<float> whole;
    for (int r = 0; r < ranks; ++r) whole.push_back(static_cast<float>(10 * (r + 1)));
    const std::vector<float> own{whole[static_cast<std::size_t>(rank)]};
    print("after rank ", rank, ": ", list(own));
}
