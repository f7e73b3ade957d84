/// broadcast, on GPUs: one rank's matrix becomes everybody's, in the order of a stream of the program's own. Prints
/// `before rank r:` zeros, but random numbers on rank 0, and `after rank r:` those numbers on all. A GPU for each rank:
/// `dlaunch --nproc-per-node=gpu cuda_broadcast`.

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
    say("before rank ", rank, ": ", rows(start, 2));
    const dlaunch::DeviceBuffer<float> matrix(start, stream.handle());
    dlaunch::broadcast(matrix.span(), 0);  // returns at once: the stream waits
    say("after rank ", rank, ": ", rows(matrix.to_host(), 2));
}

}  // namespace

int main() { return on_gpu(broadcast); }
