/// all_gather of five numbers per rank. Prints `Before all_gather on rank r: v` and `After all_gather on rank r:
/// [[1, ...], [2, ...], ...]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const std::vector<float> five(5, static_cast<float>(rank + 1));
    std::vector<float> all(5 * static_cast<std::size_t>(ranks));
    print("Before all_gather on rank ", rank, ": ", list(five));
    dlaunch::all_gather(five, all);
    print("After all_gather on rank ", rank, ": ", rows(all, 5));
}
