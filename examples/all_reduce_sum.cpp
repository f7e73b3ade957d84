/// all_reduce: every rank gets the element-wise sum of all ranks' matrices. Prints `rank r: [[v, v], [v, v]]`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> matrix(4, static_cast<float>(rank));
    dlaunch::all_reduce(matrix, dlaunch::ReduceOp::sum());
    print("rank ", rank, ": ", rows(matrix, 2));
}
