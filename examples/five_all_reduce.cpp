/// all_reduce of five numbers per rank. Prints `Before all_reduce on rank r: v` and `After
/// all_reduce on rank r: v`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> five(5, static_cast<float>(rank + 1));
    print("Before all_reduce on rank ", rank, ": ", list(five));
    dlaunch::all_reduce(five);
    print("After all_reduce on rank ", rank, ": ", list(five));
}
