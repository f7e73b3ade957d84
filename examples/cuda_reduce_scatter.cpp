/// reduce_scatter on GPUs: each rank gets its block of the sum of all ranks' vectors. Rank r contributes
/// r [1, 10, 100, ...]. Prints `rank r: [10^r n(n-1)/2]`. Needs a GPU per rank:
/// `dlaunch --nproc-per-node=gpu cuda_reduce_scatter`.

#include <dlaunch/dlaunch.hpp>

#include <cstdint>
#include <vector>

#include "examples/on_gpu.hpp"
#include "examples/print.hpp"

namespace {

void reduce_scatter() {
    const dlaunch::DeviceStream stream;
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<std::int64_t> powers;
    for (std::int64_t power = 1; powers.size() < static_cast<std::size_t>(ranks); power *= 10)
        powers.push_back(rank * power);
    dlaunch::DeviceBuffer<std::int64_t> input(powers, stream.handle()), own(1, stream.handle());
    dlaunch::reduce_scatter(input.span(), own.span());
    print("rank ", rank, ": ", list(own.to_host()));
}

}  // namespace

int main() { return on_gpu(reduce_scatter); }
