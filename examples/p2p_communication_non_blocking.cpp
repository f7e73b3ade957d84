/// isend and irecv: both sides start the message and wait for it later. Prints `rank r: [[x, x], [x, x]]`, the same
/// numbers on both. More than two ranks are an error.

#include <dlaunch/dlaunch.hpp>

#include <cstdio>
#include <vector>

#include "examples/print.hpp"
#include "examples/random_numbers.hpp"

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    if (rank > 1) {
        std::fputs("wrong rank\n", stderr);
        return 1;
    }
    std::vector<float> matrix = rank == 0 ? random_numbers() : std::vector<float>(4);
    dlaunch::Work work = rank == 0 ? dlaunch::isend(matrix, 1) : dlaunch::irecv(matrix, 0);
    work.wait();
    print("rank ", rank, ": ", rows(matrix, 2));
}
