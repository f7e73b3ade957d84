/// Measures collectives. Prints a table like those of nccl-tests and OSU: for each size the median time of the slowest
/// rank, the algorithm bandwidth (bytes / time), the bus bandwidth (the load of each rank's link, comparable between
/// operations) and, with --check, the number of wrong elements in all ranks' results.
///
///     dlaunch --nproc-per-node=2 collective_bench --op=all_reduce --bytes=8:64M --check
///
/// send_recv: each rank sends to the next one and receives from the one before. With --device=cuda the buffers are in
/// the memory of the worker's GPU, and a time ends when the stream has executed the call.

#include <dlaunch/dlaunch.hpp>
#include "examples/bench_device.hpp"
#include "examples/bench_options.hpp"
#include "examples/bench_pattern.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>

namespace {

using Clock = std::chrono::steady_clock;
using dlaunch::ConstBuffer;
using dlaunch::MutableBuffer;
using dlaunch::ProcessGroup;

/// The buffers of an operation and its bus bandwidth factor, as defined by nccl-tests.
struct Operation {
    bool in_all, out_all;  ///< the buffer holds one block per rank
    bool sums, rooted;     ///< the operation reduces; only rank 0 gets the result
    double (*bus)(double ranks);
    void (*call)(const ProcessGroup& world, ConstBuffer in, MutableBuffer out);
    bool shifts = false;  ///< the result is the previous rank's data
};

double once(double) { return 1; }
void send_recv(const ProcessGroup& world, ConstBuffer in, MutableBuffer out) {
    const int rank = world.rank(), ranks = world.size();
    world.sendrecv(in, (rank + 1) % ranks, out, (rank + ranks - 1) % ranks);
}

double others(double n) { return (n - 1) / n; }

const std::map<std::string, Operation> kOperations{
    {"all_reduce",
     {false, false, true, false, [](double n) { return 2 * (n - 1) / n; },
      [](auto& world, auto in, auto out) { world.all_reduce(in, out); }}},
    {"reduce", {false, false, true, true, once, [](auto& world, auto in, auto out) { world.reduce(in, out); }}},
    {"broadcast", {false, false, false, false, once, [](auto& world, auto, auto out) { world.broadcast(out); }}},
    {"gather", {false, true, false, true, others, [](auto& world, auto in, auto out) { world.gather(in, out); }}},
    {"scatter", {true, false, false, false, others, [](auto& world, auto in, auto out) { world.scatter(in, out); }}},
    {"all_gather",
     {false, true, false, false, others, [](auto& world, auto in, auto out) { world.all_gather(in, out); }}},
    {"reduce_scatter",
     {true, false, true, false, others, [](auto& world, auto in, auto out) { world.reduce_scatter(in, out); }}},
    {"all_to_all",
     {true, true, false, false, others, [](auto& world, auto in, auto out) { world.all_to_all(in, out); }}},
    {"send_recv", {false, false, false, false, once, send_recv, true}},
    {"barrier",
     {false, false, false, false, [](double) { return 0.0; }, [](auto& world, auto, auto) { world.barrier(); }}},
};

/// The median over the iterations of the slowest rank's microseconds.
double measure(const ProcessGroup& world, int iterations, const std::function<void()>& call) {
    std::vector<double> times;
    for (int i = -iterations / 10 - 1; i < iterations; ++i) {
        world.barrier();
        const auto begin = Clock::now();
        call();
        double time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        world.all_reduce(time, dlaunch::ReduceOp::max());
        if (i >= 0) times.push_back(time);
    }
    std::nth_element(times.begin(), times.begin() + iterations / 2, times.end());
    return times[static_cast<std::size_t>(iterations) / 2];
}

int bench(const BenchOptions& options, const Operation& operation) {
    const ProcessGroup world = dlaunch::init_process_group({.backend = options.backend});
    const auto ranks = static_cast<std::size_t>(world.size());
    const bool speaks = world.rank() == 0, barrier = options.op == "barrier";
    if (speaks && options.csv) std::printf("bytes,us,algorithm_gbps,bus_gbps,wrong\n");
    if (speaks && !options.csv)
        std::printf("%12s %12s %12s %12s %8s   %s of %s%s, %s, %zu ranks\n", "bytes", "us", "alg GB/s", "bus GB/s",
                    "wrong", options.op.c_str(), dlaunch::name_of(options.type),
                    options.device == dlaunch::Device::cuda ? " on GPUs" : "", world.backend().c_str(), ranks);
    // The size counts all blocks of a rank's buffer.
    const std::size_t parts = operation.in_all || operation.out_all ? ranks : 1;
    const std::size_t one = parts * dlaunch::size_of(options.type);
    for (std::size_t at = std::max(options.least, one); at <= std::max(options.most, one); at *= 2) {
        const std::size_t each = barrier ? 0 : at / one;
        Pattern pattern(options.type, world.rank(), world.size(), each, operation.in_all, operation.out_all);
        const int fewer = at <= 1024 ? 1000 : at <= 65536 ? 400 : at <= 1 << 20 ? 100 : 15;
        std::optional<OnDevice> device;
        if (options.device == dlaunch::Device::cuda && !barrier) {
            device.emplace(pattern);
            if (operation.shifts) world.broadcast(device->out());  // under auto a collective comes first
        }
        const double us = measure(world, options.iterations > 0 ? options.iterations : fewer, [&] {
            if (!device) return operation.call(world, pattern.in(), pattern.out());
            operation.call(world, device->in(), device->out());
            device->synchronize();
        });
        if (device) device->fetch();
        std::int64_t wrong = 0;
        const std::size_t previous = (static_cast<std::size_t>(world.rank()) + ranks - 1) % ranks;
        if (options.check && (!operation.rooted || speaks))
            wrong = pattern.wrong(operation.sums, operation.shifts ? previous : 0);
        world.all_reduce(wrong);
        const double bytes = static_cast<double>(each * one), gbps = bytes / us / 1e3;
        if (speaks)
            std::printf(options.csv ? "%.0f,%.2f,%.3f,%.3f,%s\n" : "%12.0f %12.2f %12.3f %12.3f %8s\n", bytes, us, gbps,
                        gbps * operation.bus(static_cast<double>(ranks)),
                        options.check ? std::to_string(wrong).c_str() : "-");
        if (wrong > 0) return EXIT_FAILURE;
        if (barrier) break;
    }
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const BenchOptions options = parse_bench_options({argv + 1, argv + argc});
        if (options.help) return std::puts(kBenchUsage) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        const auto found = kOperations.find(options.op);
        if (found == kOperations.end()) throw std::invalid_argument("--op=" + options.op + ": no such operation");
        return dlaunch::record([&] { return bench(options, found->second); });
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "collective_bench: %s\n", error.what());
        return 2;
    }
}
