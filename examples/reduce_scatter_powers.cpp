/// reduce_scatter: each rank gets the sums of all ranks' powers with one exponent. Rank r contributes [(r+1)^j,
/// (2(r+1))^j] for j = 1..n. Prints `Before ReduceScatter on rank r: [[...], ...]` and `After ReduceScatter on rank r:
/// [a, b]`.

#include <dlaunch/dlaunch.hpp>

#include <cmath>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<double> powers, sums(2);
    for (int j = 1; j <= ranks; ++j) powers.insert(powers.end(), {std::pow(rank + 1, j), std::pow(2 * (rank + 1), j)});
    print("Before ReduceScatter on rank ", rank, ": ", rows(powers, 2));
    dlaunch::reduce_scatter(powers, sums);
    print("After ReduceScatter on rank ", rank, ": ", list(sums));
}
