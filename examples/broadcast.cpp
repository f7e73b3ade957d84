/// broadcast: every rank gets rank 0's matrix. Prints `before rank r:` with random numbers on rank 0 and zeros
/// elsewhere, then `after rank r:` with those numbers on all ranks.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"
#include "examples/random_numbers.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> matrix = rank == 0 ? random_numbers() : std::vector<float>(4);
    print("before rank ", rank, ": ", rows(matrix, 2));
    dlaunch::broadcast(matrix, 0);
    print("after rank ", rank, ": ", rows(matrix, 2));
}
