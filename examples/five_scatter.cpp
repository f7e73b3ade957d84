/// scatter of five numbers to each rank. Prints, on rank 0, `Rank 0: Tensor to scatter: ...`, then `Before
/// scatter on rank r: [0, 0, 0, 0, 0]` and `After scatter on rank r: [r+1, ...]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<float> whole, five(5);
    for (int r = 0; rank == 0 && r < ranks; ++r) whole.insert(whole.end(), 5, static_cast<float>(r + 1));
    if (rank == 0) print("Rank 0: Tensor to scatter: ", rows(whole, 5));
    print("Before scatter on rank ", rank, ": ", list(five));
    dlaunch::scatter(whole, five, 0);
    print("After scatter on rank ", rank, ": ", list(five));
}
