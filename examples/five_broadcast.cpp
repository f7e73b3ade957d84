/// broadcast of rank 0's five numbers. Prints `Before broadcast on rank r: v`, with zeros except on rank 0, and `After
/// broadcast on rank r: [1, 2, 3, 4, 5]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> five = rank == 0 ? std::vector<float>{1, 2, 3, 4, 5} : std::vector<float>(5);
    print("Before broadcast on rank ", rank, ": ", list(five));
    dlaunch::broadcast(five, 0);
    print("After broadcast on rank ", rank, ": ", list(five));
}
