/// A broadcast in a group of two replaces a message where a backend has none: each stage of a pipeline sends two
/// numbers to the next stage. Prints, on stage s > 0, `stage s received [s-1, 10(s-1)] from stage s-1`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<dlaunch::ProcessGroup> pairs;  // every rank must create all groups, in the same order
    for (int stage = 0; stage + 1 < ranks; ++stage) pairs.push_back(dlaunch::new_group({stage, stage + 1}));
    std::vector<float> from_before(2), own{static_cast<float>(rank), static_cast<float>(10 * rank)};
    if (rank > 0) {
        pairs[static_cast<std::size_t>(rank) - 1].broadcast(from_before, 0);
        print("stage ", rank, " received ", list(from_before), " from stage ", rank - 1);
    }
    if (rank + 1 < ranks) pairs[static_cast<std::size_t>(rank)].broadcast(own, 0);
}
