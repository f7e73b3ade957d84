/// How fast are collectives? A table like nccl-tests' and OSU's: for each size the median time of the slowest rank, the
/// algorithm's bandwidth (bytes / time), the bus bandwidth (what each rank's link must carry, comparable between
/// operations) and, with --check, how many results were wrong.
///
///     dlaunch --nproc-per-node=2 collective_bench --op=all_reduce --bytes=8:67108864 --check

#include <dlaunch/dlaunch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::string op = "all_reduce", backend;
    std::size_t least = 8, most = 64 << 20;
    int iterations = 0;  ///< 0: fewer for larger sizes
    bool check = false, csv = false;
};

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i], name = word.substr(0, word.find('='));
        const std::string value = word.size() > name.size() ? word.substr(name.size() + 1) : "";
        if (name == "--op")
            options.op = value;
        else if (name == "--backend")
            options.backend = value;
        else if (name == "--iterations")
            options.iterations = std::stoi(value);
        else if (name == "--check")
            options.check = true;
        else if (name == "--csv")
            options.csv = true;
        else if (name == "--bytes") {
            options.least = std::stoul(value);
            options.most =
                value.find(':') == std::string::npos ? options.least : std::stoul(value.substr(value.find(':') + 1));
        } else
            throw std::invalid_argument(
                word + " is unknown, expected --op= --backend= --bytes=MIN:MAX --iterations= --check --csv");
    }
    return options;
}

/// What an operation moves, and the share of it that a link carries: nccl-tests' definitions.
struct Operation {
    bool in_all, out_all;  ///< whether the buffer holds a part for each rank
    double (*bus)(double ranks);
    void (*call)(const std::vector<float>& in, std::vector<float>& out);
};

const std::map<std::string, Operation> kOperations{
    {"all_reduce",
     {false, false, [](double n) { return 2 * (n - 1) / n; },
      [](const auto& in, auto& out) { dlaunch::default_group().all_reduce(in, out); }}},
    {"reduce",
     {false, false, [](double) { return 1.0; },
      [](const auto& in, auto& out) { dlaunch::default_group().reduce(in, out, 0); }}},
    {"broadcast",
     {false, false, [](double) { return 1.0; }, [](const auto&, auto& out) { dlaunch::broadcast(out, 0); }}},
    {"all_gather",
     {false, true, [](double n) { return n - 1; }, [](const auto& in, auto& out) { dlaunch::all_gather(in, out); }}},
    {"reduce_scatter",
     {true, false, [](double n) { return n - 1; },
      [](const auto& in, auto& out) { dlaunch::reduce_scatter(in, out); }}},
    {"all_to_all",
     {true, true, [](double n) { return n - 1; }, [](const auto& in, auto& out) { dlaunch::all_to_all(in, out); }}},
    {"barrier", {false, false, [](double) { return 0.0; }, [](const auto&, auto&) { dlaunch::barrier(); }}},
};

/// The median over the iterations of the slowest rank's microseconds.
double measure(const Operation& operation, const std::vector<float>& in, std::vector<float>& out, int iterations) {
    std::vector<double> times;
    for (int i = -iterations / 10 - 1; i < iterations; ++i) {
        dlaunch::barrier();
        const auto begin = Clock::now();
        operation.call(in, out);
        double time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        dlaunch::all_reduce(time, dlaunch::ReduceOp::max());
        if (i >= 0) times.push_back(time);
    }
    std::nth_element(times.begin(), times.begin() + iterations / 2, times.end());
    return times[static_cast<std::size_t>(iterations) / 2];
}

int bench(int argc, char** argv) {
    const Options options = parse(argc, argv);
    const auto found = kOperations.find(options.op);
    if (found == kOperations.end()) throw std::invalid_argument("there is no operation " + options.op);
    const dlaunch::ProcessGroup world = dlaunch::init_process_group({.backend = options.backend});
    const Operation& operation = found->second;
    const auto ranks = static_cast<std::size_t>(world.size());
    if (world.rank() == 0)
        std::printf(
            options.csv ? "bytes,us,algorithm_gbps,bus_gbps,wrong\n" : "%12s %12s %12s %12s %8s   %s, %s, %zu ranks\n",
            "bytes", "us", "alg GB/s", "bus GB/s", "wrong", options.op.c_str(), world.backend().c_str(), ranks);
    for (std::size_t bytes = options.least; bytes <= options.most; bytes *= 2) {
        const std::size_t count = bytes / sizeof(float);
        // Ones: every sum is the number of ranks, everything else stays 1.
        const std::vector<float> in(count * (operation.in_all ? ranks : 1), 1);
        std::vector<float> out(count * (operation.out_all ? ranks : 1), 1);
        const int fewer = bytes <= 1024 ? 1000 : bytes <= 65536 ? 400 : bytes <= 1 << 20 ? 100 : 15;
        const double us = measure(operation, in, out, options.iterations > 0 ? options.iterations : fewer);
        const bool sums = options.op == "all_reduce" || options.op == "reduce_scatter" ||
                          (options.op == "reduce" && world.rank() == 0);
        std::int64_t wrong =
            options.check ? std::count_if(out.begin(), out.end(),
                                          [&](float x) { return x != (sums ? static_cast<float>(ranks) : 1.0F); })
                          : 0;
        dlaunch::all_reduce(wrong);
        const double gbps = static_cast<double>(bytes) / us / 1e3;
        if (world.rank() == 0)
            std::printf(options.csv ? "%zu,%.2f,%.3f,%.3f,%lld\n" : "%12zu %12.2f %12.3f %12.3f %8lld\n", bytes, us,
                        gbps, gbps * operation.bus(static_cast<double>(ranks)), static_cast<long long>(wrong));
        if (options.op == "barrier") break;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) { return dlaunch::record(argc, argv, bench); }
