/// reduce of five numbers per rank at rank 0; buffers of other ranks are unchanged. Prints `Before reduce on rank r: v`
/// and `After reduce on rank r: v`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> five(5, static_cast<float>(rank + 1));
    print("Before reduce on rank ", rank, ": ", list(five));
    dlaunch::reduce(five, 0);
    print("After reduce on rank ", rank, ": ", list(five));
}
