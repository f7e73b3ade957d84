/// reduce with product: rank 0 gets the products of [r+1, r+10] over all ranks, other ranks keep their data. Prints
/// `Rank r has data v`.

#include <dlaunch/dlaunch.hpp>

#include <cstdint>
#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<std::int64_t> data{rank + 1, rank + 10};
    dlaunch::reduce(data, 0, dlaunch::ReduceOp::product());
    print("Rank ", rank, " has data ", list(data));
}
