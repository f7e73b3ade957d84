/// Pi as a sum of one term per rank, 4 (1 - 1/3 + 1/5 - ...), summed by a reduce. Prints `rank=r total=t`, the rank's
/// term, then on rank 0 `Total is = T`.

#include <dlaunch/dlaunch.hpp>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    double total = (rank % 2 == 0 ? 1.0 : -1.0) / (2 * rank + 1), sum = 0;
    print("rank=", rank, " total=", total);
    dlaunch::default_group().reduce(total, sum, 0);
    if (rank == 0) print("Total is = ", 4 * sum);
}
