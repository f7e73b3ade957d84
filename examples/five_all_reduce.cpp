/// Five numbers of every rank are added up, for everybody. Prints `Before all_reduce on rank r: v` and `After
/// all_reduce on rank r: v`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> five(5, static_cast<float>(rank + 1));
    say("Before all_reduce on rank ", rank, ": ", list(five));
    dlaunch::all_reduce(five);
    say("After all_reduce on rank ", rank, ": ", list(five));
}
