/// reduce with max: rank 0 gets the element-wise maximum of all ranks' matrices. Prints, on rank 0, `rank 0: [[v, v],
/// [v, v]]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> matrix(4, static_cast<float>(rank));
    dlaunch::reduce(matrix, 0, dlaunch::ReduceOp::max());
    if (rank == 0) print("rank 0: ", rows(matrix, 2));
}
