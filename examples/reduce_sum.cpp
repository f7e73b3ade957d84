/// The sum of all ranks' matrices, elementwise, for rank 0 alone. Prints, on rank 0, `rank 0: [[v, v], [v, v]]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> matrix(4, static_cast<float>(rank));
    dlaunch::reduce(matrix, 0, dlaunch::ReduceOp::sum());
    if (rank == 0) say("rank 0: ", rows(matrix, 2));
}
