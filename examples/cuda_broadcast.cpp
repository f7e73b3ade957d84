/// broadcast on GPUs, in the order of a stream of the program: every rank gets rank 0's matrix. Prints `before rank r:`
/// with random numbers on rank 0 and zeros elsewhere, then `after rank r:` with those numbers on all ranks. Needs a GPU
/// per rank: `dlaunch --nproc-per-node=gpu cuda_broadcast`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/on_gpu.hpp"
#include "examples/print.hpp"
#include "examples/random_numbers.hpp"

namespace {

void broadcast() {
    const dlaunch::DeviceStream stream;
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    const std::vector<float> start = rank == 0 ? random_numbers() : std::vector<float>(4);
    print("before rank ", rank, ": ", rows(start, 2));
    dlaunch::DeviceBuffer<float> matrix(start, stream.handle());
    dlaunch::broadcast(matrix.span(), 0);  // returns at once; the stream waits
    print("after rank ", rank, ": ", rows(matrix.to_host(), 2));
}

}  // namespace

int main() { return on_gpu(broadcast); }
