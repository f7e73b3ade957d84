/// gather of five numbers per rank at rank 0. Prints `Before gather on rank r: v` and, on rank 0, `After gather on rank
/// 0:
/// [[1, ...], [2, ...], ...]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const std::vector<float> five(5, static_cast<float>(rank + 1));
    std::vector<float> all(rank == 0 ? 5 * static_cast<std::size_t>(ranks) : 0);
    print("Before gather on rank ", rank, ": ", list(five));
    dlaunch::gather(five, all, 0);
    if (rank == 0) print("After gather on rank 0: ", rows(all, 5));
}
