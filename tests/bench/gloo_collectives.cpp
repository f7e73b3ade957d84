/// Gloo without libdlaunch, for comparison with collective_bench: the median time of the slowest rank.
///
///     RANK=0 WORLD_SIZE=2 gloo_collectives FOLDER [--once] BYTES...      --once: one call, to see how long the start
///     takes

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

template <class T>
void all_reduce(const std::shared_ptr<gloo::Context>& context, std::vector<T>& data, std::uint32_t tag,
                void (*combine)(void*, const void*, const void*, std::size_t)) {
    gloo::AllreduceOptions options(context);
    options.setOutput(data.data(), data.size());
    options.setReduceFunction(combine);
    options.setTag(tag);
    gloo::allreduce(options);
}

double measure(const std::shared_ptr<gloo::Context>& context, std::size_t bytes, bool once) {
    const int iterations = once ? 1 : bytes <= 65536 ? 200 : bytes <= 1 << 20 ? 100 : 15;
    std::vector<float> data(bytes / sizeof(float), 0);
    std::vector<double> times;
    for (int k = once ? 0 : -iterations / 10 - 1; k < iterations; ++k) {
        gloo::BarrierOptions barrier(context);
        barrier.setTag(1);
        gloo::barrier(barrier);
        const auto begin = Clock::now();
        all_reduce(context, data, 2, gloo::sum<float>);
        std::vector<double> time{std::chrono::duration<double, std::micro>(Clock::now() - begin).count()};
        all_reduce(context, time, 3, gloo::max<double>);
        if (k >= 0) times.push_back(time[0]);
    }
    std::nth_element(times.begin(), times.begin() + iterations / 2, times.end());
    return times[static_cast<std::size_t>(iterations) / 2];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || !std::getenv("RANK") || !std::getenv("WORLD_SIZE")) return 2;
    const int rank = std::atoi(std::getenv("RANK")), ranks = std::atoi(std::getenv("WORLD_SIZE"));
    gloo::transport::tcp::attr attributes;
    attributes.hostname = "127.0.0.1";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(argv[1]);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    const bool once = argc > 2 && std::string(argv[2]) == "--once";
    for (int i = once ? 3 : 2; i < argc; ++i) {
        const std::size_t bytes = std::strtoul(argv[i], nullptr, 10);
        const double us = measure(context, bytes, once);
        if (rank == 0) std::printf("%zu,%.2f\n", bytes, us);
    }
}
