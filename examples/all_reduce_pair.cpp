/// A group of two ranks. Prints `Rank r has data d`: 2 in the group, 1 outside.

#include <dlaunch/dlaunch.hpp>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    const dlaunch::ProcessGroup pair = dlaunch::new_group({0, 1});
    float data = 1;
    if (pair.is_member()) pair.all_reduce(data);
    print("Rank ", rank, " has data ", data);
}
