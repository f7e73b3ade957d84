/// A scatter without communication, where every rank has the whole anyway: it keeps its part. Prints `after rank r:
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
    say("after rank ", rank, ": ", list(own));
}
