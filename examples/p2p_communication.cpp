/// A blocking message of a 2 x 2 matrix. Prints, on rank 0, `rank 0 sent: [[x, x], [x, x]]`; on rank 1 `rank 1
/// before:` zeros and `rank 1 after:` the same numbers. More than two ranks are an error.

#include <dlaunch/dlaunch.hpp>

#include <cstdio>
#include <random>
#include <vector>

#include "examples/print.hpp"

namespace {

/// Four numbers that nobody could know before.
std::vector<float> random_numbers() {
    std::random_device device;
    std::vector<float> numbers;
    for (int i = 0; i < 4; ++i) numbers.push_back(std::uniform_real_distribution<float>(0.1F, 0.9F)(device));
    return numbers;
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    if (rank > 1) {
        std::fputs("wrong rank\n", stderr);
        return 1;
    }
    std::vector<float> matrix(4);
    if (rank == 0) {
        matrix = random_numbers();
        dlaunch::send(matrix, 1);
        say("rank 0 sent: ", rows(matrix, 2));
    } else {
        say("rank 1 before: ", rows(matrix, 2));
        dlaunch::recv(matrix, 0);
        say("rank 1 after: ", rows(matrix, 2));
    }
}
