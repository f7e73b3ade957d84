/// Two collectives in flight at the same time; each call returns a Work at once. Prints `rank r: gathered [[1,
/// 1], [2, 2], ...] sum [s, s]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const std::vector<float> own(2, static_cast<float>(rank + 1));
    std::vector<float> all(2 * static_cast<std::size_t>(ranks)), sum = own;
    dlaunch::Work gathering = dlaunch::all_gather_async(own, all);
    dlaunch::Work adding = dlaunch::all_reduce_async(sum);
    gathering.wait();
    adding.wait();
    print("rank ", rank, ": gathered ", rows(all, 2), " sum ", list(sum));
}
