/// Asynchronous all_reduce on GPUs: every rank gets the element-wise sum of all ranks' matrices. Prints
/// `rank r: [[v, v], [v, v]]`. Needs a GPU per rank: `dlaunch --nproc-per-node=gpu cuda_all_reduce`.

#include <dlaunch/dlaunch.hpp>

#include <vector>

#include "examples/on_gpu.hpp"
#include "examples/print.hpp"

namespace {

void all_reduce() {
    const dlaunch::DeviceStream stream;
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank();
    dlaunch::DeviceBuffer<float> matrix(std::vector<float>(4, static_cast<float>(rank)), stream.handle());
    dlaunch::Work work = dlaunch::all_reduce_async(matrix.span(), dlaunch::ReduceOp::sum());
    work.wait();  // makes the stream wait, not the host; later work of the stream sees the sum
    print("rank ", rank, ": ", rows(matrix.to_host(), 2));
}

}  // namespace

int main() { return on_gpu(all_reduce); }
