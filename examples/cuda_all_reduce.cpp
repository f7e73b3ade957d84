/// all_reduce, on GPUs: the sum of all ranks' matrices, elementwise, for everybody, while the host is free. Prints
/// `rank r: [[v, v], [v, v]]`. A GPU for each rank: `dlaunch --nproc-per-node=gpu cuda_all_reduce`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/on_gpu.hpp"
#include "examples/print.hpp"

namespace {

void all_reduce() {
    const dlaunch::DeviceStream stream;
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    const dlaunch::DeviceBuffer<float> matrix(std::vector<float>(4, static_cast<float>(rank)), stream.handle());
    dlaunch::Work work = dlaunch::all_reduce_async(matrix.span(), dlaunch::ReduceOp::sum());
    work.wait();  // the stream waits, the host goes on; what the stream is given from now on finds the sum
    say("rank ", rank, ": ", rows(matrix.to_host(), 2));
}

}  // namespace

int main() { return on_gpu(all_reduce); }
