/// One rank's matrix becomes everybody's. Prints `before rank r:` zeros, but random numbers on rank 0, and `after
/// rank r:` those numbers on all.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/print.hpp"
#include "examples/random_numbers.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    std::vector<float> matrix = rank == 0 ? random_numbers() : std::vector<float>(4);
    say("before rank ", rank, ": ", rows(matrix, 2));
    dlaunch::broadcast(matrix, 0);
    say("after rank ", rank, ": ", rows(matrix, 2));
}
