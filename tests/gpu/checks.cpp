/// checks PART: one part of tests/gpu/run, as a worker. Exit status 0: correct.

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "tests/conformance/reference.hpp"

namespace {

using namespace dlaunch;
using namespace std::chrono_literals;
using conformance::Buffer;

void check(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error(what);
}

Error expect_error(ErrorCode code, const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        check(error.code() == code, std::string("expected ") + name_of(code) + ", got " + error.what());
        return error;
    }
    throw std::logic_error(std::string("no error, expected ") + name_of(code));
}

/// Small enough for products of all ranks in 16 bits.
template <class T>
T element(int rank, std::size_t i) {
    const auto number = (static_cast<std::size_t>(rank) + i) % 3;
    if constexpr (std::same_as<T, Float16> || std::same_as<T, BFloat16>)
        return T(static_cast<float>(number));
    else
        return static_cast<T>(number);
}

/// On the device: `count` elements of a rank, from element `begin` on.
template <class T>
std::unique_ptr<DeviceBuffer<T>> filled(const DeviceStream& stream, int rank, std::size_t count,
                                        std::size_t begin = 0) {
    const Buffer<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element<T>(rank, begin + i);
    return std::make_unique<DeviceBuffer<T>>(std::span<const T>(values.span()), stream.handle());
}

/// NCCL adds in an order of its own, and rounds 16 bits at every step.
template <class T>
bool near(T got, T expected) {
    if constexpr (std::integral<T>)
        return got == expected;
    else
        return std::abs(static_cast<double>(static_cast<float>(got)) - static_cast<float>(expected)) <=
               (sizeof(T) == 2 ? 0.02 : 1e-6) * std::abs(static_cast<double>(static_cast<float>(expected)));
}

template <class T>
void expect_reduced(const char* call, ReduceOp op, int ranks, std::size_t begin, const DeviceBuffer<T>& got) {
    const Buffer<T> values(got.size());
    got.to_host(values.data.get());
    for (std::size_t i = 0; i < got.size(); ++i) {
        std::vector<T> column;
        for (int r = 0; r < ranks; ++r) column.push_back(element<T>(r, begin + i));
        check(near(values[i], conformance::combined(op, ranks, column)),
              std::string(call) + " " + op.name() + " of " + name_of(kDTypeOf<T>) + ": element " + std::to_string(i));
    }
}

template <class T>
void expect_moved(const char* call, const DeviceBuffer<T>& got, std::size_t at, std::size_t count, int rank,
                  std::size_t begin = 0) {
    const Buffer<T> values(got.size());
    got.to_host(values.data.get());
    for (std::size_t i = 0; i < count; ++i)
        check(values[at + i] == element<T>(rank, begin + i), std::string(call) + " of " + name_of(kDTypeOf<T>));
}

void reductions(const ProcessGroup& world) {
    const DeviceStream stream;
    const int rank = world.rank(), ranks = world.size(), root = ranks - 1;
    const auto n = static_cast<std::size_t>(ranks);
    conformance::for_each_type([&]<class T>() {
        for (const ReduceOp op : conformance::all_ops()) {
            if (!conformance::exists<T>(op)) continue;
            for (const std::size_t count : {1, 1000, 100003}) {
                const auto in = filled<T>(stream, rank, count), out = filled<T>(stream, 0, count);
                world.all_reduce(in->span(), out->span(), op);
                expect_reduced("all_reduce", op, ranks, 0, *out);
                world.reduce(in->span(), out->span(), root, op);
                if (rank == root) expect_reduced("reduce", op, ranks, 0, *out);
                world.all_reduce(in->span(), op);
                expect_reduced("all_reduce in place", op, ranks, 0, *in);
                const auto all = filled<T>(stream, rank, count * n);
                world.reduce_scatter(all->span(), out->span(), op);
                expect_reduced("reduce_scatter", op, ranks, static_cast<std::size_t>(rank) * count, *out);
            }
        }
    });
    std::vector<std::size_t> counts(n);
    std::iota(counts.begin(), counts.end(), 1);
    const auto whole = filled<float>(stream, rank, n * (n + 1) / 2),
               part = filled<float>(stream, 0, counts[static_cast<std::size_t>(rank)]);
    world.reduce_scatterv(whole->span(), part->span(), counts);
    expect_reduced("reduce_scatterv", ReduceOp::sum(), ranks, static_cast<std::size_t>(rank * (rank + 1) / 2), *part);
}

void movement(const ProcessGroup& world) {
    const DeviceStream stream;
    const int rank = world.rank(), ranks = world.size();
    const auto n = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
    conformance::for_each_type([&]<class T>() {
        for (const std::size_t count : {1, 1000, 100003}) {
            const auto own = filled<T>(stream, rank, count), whole = filled<T>(stream, 0, count * n);
            world.all_gather(own->span(), whole->span());
            for (int from = 0; from < ranks; ++from)
                expect_moved("all_gather", *whole, static_cast<std::size_t>(from) * count, count, from);
            for (int root = 0; root < ranks; ++root) {
                const auto data = filled<T>(stream, rank, count), all = filled<T>(stream, 0, count * n);
                world.broadcast(data->span(), root);
                expect_moved("broadcast", *data, 0, count, root);
                world.gather(own->span(), all->span(), root);
                for (int from = 0; rank == root && from < ranks; ++from)
                    expect_moved("gather", *all, static_cast<std::size_t>(from) * count, count, from);
                const auto parts = filled<T>(stream, root, count * n);
                world.scatter(parts->span(), data->span(), root);
                expect_moved("scatter", *data, 0, count, root, r * count);
            }
            const auto in = filled<T>(stream, rank, count * n), out = filled<T>(stream, 0, count * n);
            world.all_to_all(in->span(), out->span());
            for (int from = 0; from < ranks; ++from)
                expect_moved("all_to_all", *out, static_cast<std::size_t>(from) * count, count, from, r * count);
        }
    });
    std::vector<std::size_t> counts(n);
    std::iota(counts.begin(), counts.end(), 1);
    const auto own = filled<int>(stream, rank, counts[r]), all = filled<int>(stream, 0, n * (n + 1) / 2);
    world.all_gatherv(own->span(), all->span(), counts);
    for (std::size_t from = 0, at = 0; from < n; at += counts[from++])
        expect_moved("all_gatherv", *all, at, counts[from], static_cast<int>(from));
    world.barrier();
}

void messages(const ProcessGroup& world) {
    const DeviceStream stream;
    const int next = (world.rank() + 1) % world.size(), before = (world.rank() + world.size() - 1) % world.size();
    const auto mine = filled<double>(stream, world.rank(), 100003), theirs = filled<double>(stream, 0, 100003);
    const std::vector<P2POp> ring{{P2POp::Kind::send, {mine->span()}, next},
                                  {P2POp::Kind::recv, {theirs->span()}, before}};
    for (Work& work : world.batch_isend_irecv(ring)) work.wait();
    expect_moved("ring", *theirs, 0, theirs->size(), before);
}

void streams(const ProcessGroup& world) {
    const DeviceStream stream;
    const std::size_t count = 64 << 20;
    const auto in = filled<float>(stream, world.rank(), count), out = filled<float>(stream, 0, count);
    world.all_reduce(in->span(), out->span());  // connects
    stream.synchronize();
    Work last;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i) {
        last = world.all_reduce_async(in->span(), out->span());
        last.wait();
    }
    const bool done = last.done();
    const auto given = std::chrono::steady_clock::now() - begin;
    stream.synchronize();
    const auto carried_out = std::chrono::steady_clock::now() - begin;
    check(!done && given < carried_out, "the host waited for the GPU");
    check(last.done(), "the stream does not wait for the call");
    expect_reduced("all_reduce", ReduceOp::sum(), world.size(), 0, *out);
}

void groups(const ProcessGroup& world) {
    const DeviceStream stream;
    std::vector<int> all(static_cast<std::size_t>(world.size()));
    std::iota(all.rbegin(), all.rend(), 0);
    const ProcessGroup backwards = world.new_group(all), single = world.new_group(std::vector<int>{0});
    const auto one = filled<float>(stream, world.rank(), 10);
    backwards.broadcast(one->span(), 0);
    expect_moved("broadcast in a split group", *one, 0, 10, world.size() - 1);
    if (single.is_member()) single.all_reduce(one->span());
    world.barrier();
}

/// A stream that is blocked for two seconds, and a call that may take half a second.
void stalled(const ProcessGroup& world) {
    const char* file = std::getenv("DLAUNCH_CUDA_LIBRARY");
    void* library = dlopen(file ? file : "libcuda.so.1", RTLD_NOW);
    using Launch = int (*)(void*, void (*)(void*), void*);
    const auto launch = reinterpret_cast<Launch>(dlsym(library, "cuLaunchHostFunc"));
    const DeviceStream stream;
    const auto one = filled<float>(stream, 0, 1000);
    world.all_reduce(one->span());
    stream.synchronize();
    check(launch(
              stream.handle(), [](void*) { std::this_thread::sleep_for(2s); }, nullptr) == 0,
          "cuLaunchHostFunc");
    const auto begin = std::chrono::steady_clock::now();
    Work work = world.all_reduce_async(one->span(), ReduceOp::sum(), {.timeout = 500ms});
    const Error error = expect_error(ErrorCode::timeout, [&] { work.wait_for(60s); });
    const auto took = std::chrono::steady_clock::now() - begin;
    check(took > 400ms && took < 5s, "the time-out took its time");
    check(error.op() == "all_reduce" && error.sequence() == 2, error.what());
    expect_error(ErrorCode::aborted, [&] { world.all_reduce(one->span()); });
}

void abort(ProcessGroup world) {
    const DeviceStream stream;
    const auto one = filled<float>(stream, 1, 1000);
    world.all_reduce(one->span());
    stream.synchronize();
    if (world.rank() == 0) world.abort("enough");
    // The other ranks receive the abort while they wait.
    if (world.rank() > 0) expect_error(ErrorCode::aborted, [&] { world.barrier(); });
    expect_error(ErrorCode::aborted, [&] { world.all_reduce(one->span()); });
    std::vector<int> all(static_cast<std::size_t>(world.size()));
    std::iota(all.begin(), all.end(), 0);
    world.new_group(all).barrier();
}

void late(const ProcessGroup& world) {
    const DeviceStream stream;
    const auto one = filled<float>(stream, 1, 1000);
    world.all_reduce(one->span());
    Store store = world.store();
    if (world.rank() == 0) {
        for (int r = 1; r < world.size(); ++r) (void)store.get("gave up " + std::to_string(r));
    } else {
        const Error error = expect_error(ErrorCode::timeout, [&] { world.barrier({.timeout = 500ms}); });
        check(error.ranks() == std::vector<int>{0}, error.what());
        store.set("gave up " + std::to_string(world.rank()), "yes");
    }
}

void duplicate() {
    const auto begin = std::chrono::steady_clock::now();
    const std::string message =
        expect_error(ErrorCode::backend, [] { init_process_group({.backend = "nccl"}); }).what();
    check(message.find("Duplicate GPU") != std::string::npos || message.find("same GPU") != std::string::npos, message);
    check(std::chrono::steady_clock::now() - begin < 60s, "it took long");
}

int run(const std::string& what) {
    if (what == "count") return std::printf("%d\n", device_count()) < 0;
    if (what == "duplicate") return duplicate(), 0;
    const std::map<std::string, void (*)(ProcessGroup)> parts{
        {"reductions", [](ProcessGroup g) { reductions(g); }},
        {"movement", [](ProcessGroup g) { movement(g); }},
        {"messages", [](ProcessGroup g) { messages(g); }},
        {"streams", [](ProcessGroup g) { streams(g); }},
        {"groups", [](ProcessGroup g) { groups(g); }},
        {"stalled", [](ProcessGroup g) { stalled(g); }},
        {"abort", abort},
        {"late", [](ProcessGroup g) { late(g); }},
    };
    const auto found = parts.find(what);
    if (found == parts.end()) throw std::invalid_argument("checks: there is no part " + what);
    use_device();
    found->second(init_process_group({.backend = "nccl"}));
    destroy_process_group();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? argv[1] : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argc > 1 ? argv[1] : "checks", error.what());
        return 1;
    }
}
