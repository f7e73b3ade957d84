/// all_gather on GPUs: every rank gets the numbers of all ranks, in rank order. Prints `rank r: [[0], [1], ...]`.
/// Needs a GPU per rank: `dlaunch --nproc-per-node=gpu cuda_all_gather`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/on_gpu.hpp"
#include "examples/print.hpp"

namespace {

void all_gather() {
    const dlaunch::DeviceStream stream;
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    dlaunch::DeviceBuffer<float> own(std::vector<float>{static_cast<float>(rank)}, stream.handle());
    dlaunch::DeviceBuffer<float> all(static_cast<std::size_t>(dlaunch::get_world_size()), stream.handle());
    dlaunch::all_gather(own.span(), all.span());
    print("rank ", rank, ": ", rows(all.to_host(), 1));
}

}  // namespace

int main() { return on_gpu(all_gather); }
