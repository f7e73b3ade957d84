/// One rank's matrix becomes everybody's. Prints `before rank r:` zeros, but random numbers on rank 0, and `after
/// rank r:` those numbers on all.

#include <dlaunch/dlaunch.hpp>

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
    std::vector<float> matrix = rank == 0 ? random_numbers() : std::vector<float>(4);
    say("before rank ", rank, ": ", rows(matrix, 2));
    dlaunch::broadcast(matrix, 0);
    say("after rank ", rank, ": ", rows(matrix, 2));
}
