/// Pipeline parallelism: each rank is a stage, which adds rank + 1 to every number and sends the result to the next
/// stage. A batch of 1024 numbers is cut into 4 mini-batches, each of 32 micro-batches of 8 numbers, so that all stages
/// work concurrently: a stage computes one micro-batch while it receives the next and sends the previous one. Prints,
/// on the last rank, `rank n-1: mini-batch m of 256 in 32 micro-batches of 8: sum s`; fails if s is not the unsplit
/// result.

#include <dlaunch/dlaunch.hpp>

#include <array>
#include <numeric>

#include "examples/print.hpp"

namespace {

constexpr int kMiniBatches = 4, kMicroBatches = 32, kMicro = 8, kMini = kMicroBatches * kMicro;
using Micro = std::array<float, kMicro>;

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    const bool first = rank == 0, last = rank == ranks - 1;
    // Double buffering in each direction: one buffer in use by the stage, one in transit.
    std::array<Micro, 2> in{}, out{};
    std::array<dlaunch::Work, 2> arriving, leaving;
    const auto expect = [&](int number) {
        const auto slot = static_cast<std::size_t>(number % 2);
        if (first)
            std::iota(in[slot].begin(), in[slot].end(), static_cast<float>(number * kMicro));
        else
            arriving[slot] = dlaunch::irecv(in[slot], rank - 1);
    };

    double sum = 0;
    expect(0);
    for (int number = 0; number < kMiniBatches * kMicroBatches; ++number) {
        const auto slot = static_cast<std::size_t>(number % 2);
        if (number + 1 < kMiniBatches * kMicroBatches) expect(number + 1);
        arriving[slot].wait();
        leaving[slot].wait();
        for (std::size_t i = 0; i < kMicro; ++i) out[slot][i] = in[slot][i] + static_cast<float>(rank + 1);
        if (!last) {
            leaving[slot] = dlaunch::isend(out[slot], rank + 1);
            continue;
        }
        sum = std::accumulate(out[slot].begin(), out[slot].end(), sum);
        if ((number + 1) % kMicroBatches != 0) continue;
        const int mini = number / kMicroBatches;
        print("rank ", rank, ": mini-batch ", mini, " of ", kMini, " in ", kMicroBatches, " micro-batches of ", kMicro,
              ": sum ", sum);
        const double numbers = kMini * (mini * kMini + (kMini - 1) / 2.0);
        if (sum != numbers + kMini * ranks * (ranks + 1) / 2.0) return 1;
        sum = 0;
    }
    for (dlaunch::Work& work : leaving) work.wait();
}
