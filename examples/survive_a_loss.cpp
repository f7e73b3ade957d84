/// The last rank exits without a message; the other ranks detect the loss, form a new group and go on. Every survivor
/// prints `rank r: lost rank l, k go on, sum s`: k ranks are left, and s is the sum of their numbers.

#include <unistd.h>

#include <dlaunch/dlaunch.hpp>

#include <algorithm>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    int value = rank;
    dlaunch::all_reduce(value);
    if (rank == ranks - 1) _exit(0);  // no destructors, no message to a peer
    try {
        dlaunch::all_reduce(value);
    } catch (const dlaunch::Error& error) {
        // The error is the same on all survivors, and so is the list.
        if (error.ranks().empty()) throw;
        std::vector<int> left;
        for (int r = 0; r < ranks; ++r)
            if (std::count(error.ranks().begin(), error.ranks().end(), r) == 0) left.push_back(r);
        const dlaunch::ProcessGroup rest = dlaunch::new_group(left);  // the old group has ended with the error
        int sum = rank;
        rest.all_reduce(sum);
        print("rank ", rank, ": lost rank ", error.ranks().front(), ", ", rest.size(), " go on, sum ", sum);
    }
}
