/// ZeRO's first stage: the optimizer's state is sharded. Every rank keeps the momentum of its shard only, gets the
/// shard's averaged gradients by a reduce-scatter, updates the shard, and an all-gather collects the parameters. Prints
/// `rank r: keeps b of b*n momentum values`, `rank r: sharded w` and `rank r: whole w`, the unsharded result; fails if
/// they differ.

#include <dlaunch/dlaunch.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/print.hpp"

namespace {

constexpr std::size_t kParameters = 24;
constexpr double kRate = 0.01, kMomentum = 0.5;

std::vector<double> gradient(int rank, int step, std::size_t size) {
    std::vector<double> values(size);
    for (std::size_t i = 0; i < kParameters; ++i) values[i] = (rank + 1.0) * (static_cast<double>(i) + 1) + step;
    return values;
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const auto parts = static_cast<std::size_t>(ranks), share = (kParameters + parts - 1) / parts, size = share * parts;

    std::vector<double> sharded(size), own(share), own_gradient(share), own_momentum(share);
    print("rank ", rank, ": keeps ", own_momentum.size(), " of ", size, " momentum values");
    for (int step = 0; step < 3; ++step) {
        const std::vector<double> all = gradient(rank, step, size);
        dlaunch::reduce_scatter(all, own_gradient, dlaunch::ReduceOp::avg());
        for (std::size_t i = 0; i < share; ++i) {
            own_momentum[i] = kMomentum * own_momentum[i] + own_gradient[i];
            own[i] -= kRate * own_momentum[i];
        }
        dlaunch::all_gather(own, sharded);
    }

    std::vector<double> whole(size), momentum(size);
    for (int step = 0; step < 3; ++step) {
        std::vector<double> averaged = gradient(rank, step, size);
        dlaunch::all_reduce(averaged, dlaunch::ReduceOp::avg());
        for (std::size_t i = 0; i < size; ++i) {
            momentum[i] = kMomentum * momentum[i] + averaged[i];
            whole[i] -= kRate * momentum[i];
        }
    }
    sharded.resize(kParameters);
    whole.resize(kParameters);
    print("rank ", rank, ": sharded ", list(sharded));
    print("rank ", rank, ": whole ", list(whole));
    for (std::size_t i = 0; i < kParameters; ++i) {
        if (std::abs(sharded[i] - whole[i]) < 1e-12) continue;
        std::fprintf(stderr, "parameter %zu is %g sharded and %g whole\n", i, sharded[i], whole[i]);
        return 1;
    }
}
