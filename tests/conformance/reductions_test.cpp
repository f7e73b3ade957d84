/// Every reduction on every type, at sizes around the algorithms' thresholds, in place and out of place.

#include <algorithm>
#include <cstring>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using ReductionsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, ReductionsTest, testing::ValuesIn(cases({1, 2, 3, 4, 5, 8}, true)), name_of);

/// Checks elements [begin, begin + out.size) of the reduction of all ranks' inputs.
template <class T>
void compare(const char* call, ReduceOp op, int ranks, std::size_t begin, const Buffer<T>& out) {
    const std::size_t distinct = std::min(out.size, kPeriod);
    const Buffer<T> expected(distinct);
    for (std::size_t i = 0; i < distinct; ++i) {
        std::vector<T> column;
        for (int r = 0; r < ranks; ++r) column.push_back(element<T>(r, begin + i));
        expected[i] = combined(op, ranks, column);
    }
    for (std::size_t at = 0; at < out.size; at += kPeriod) {
        const std::size_t some = std::min(kPeriod, out.size - at);
        if (std::memcmp(&out[at], &expected[0], some * sizeof(T)) == 0) continue;
        std::size_t i = 0;
        while (std::memcmp(&out[at + i], &expected[i], sizeof(T)) == 0) ++i;
        check(false, std::string(call) + " " + op.name() + " of " + dlaunch::name_of(kDTypeOf<T>) + ": element " +
                         std::to_string(begin + at + i) + " of " + std::to_string(out.size) + " is wrong");
    }
}

template <class T>
void reduce_all_ways(const ProcessGroup& world, ReduceOp op, std::size_t count) {
    const int rank = world.rank(), ranks = world.size(), root = static_cast<int>(count) % ranks;
    {
        const Buffer<T> in = input<T>(rank, count), out(count), data = input<T>(rank, count);
        world.all_reduce(in.span(), out.span(), op);
        compare("all_reduce", op, ranks, 0, out);
        world.all_reduce(data.span(), op);
        compare("all_reduce in place", op, ranks, 0, data);
    }
    {
        const Buffer<T> in = input<T>(rank, count), out(rank == root ? count : 0), data = input<T>(rank, count);
        world.reduce(in.span(), out.span(), root, op);
        if (rank == root) compare("reduce", op, ranks, 0, out);
        world.reduce(data.span(), root, op);
        if (rank == root) compare("reduce in place", op, ranks, 0, data);
        check(rank == root || std::ranges::equal(data.span(), in.span()), "reduce changed what is not the root's");
    }
    const Buffer<T> in = input<T>(rank, count * static_cast<std::size_t>(ranks)), out(count);
    world.reduce_scatter(in.span(), out.span(), op);
    compare("reduce_scatter", op, ranks, static_cast<std::size_t>(rank) * count, out);
}

/// Fewer sizes for transfers between hosts, which are slow. Up to 216 bytes travel with the signatures.
std::vector<std::size_t> small_sizes(const ProcessGroup& world) {
    if (world.backend() == "shm") return {0, 1, 7, 1000};
    return world.backend() == "gloo" ? std::vector<std::size_t>{1, 300} : std::vector<std::size_t>{60};
}

TEST_P(ReductionsTest, every_operation_on_every_type) {
    run([](const ProcessGroup& world) {
        for_each_type([&]<class T>() {
            for (const ReduceOp op : all_ops()) {
                if (exists<T>(op)) {
                    for (const std::size_t count : small_sizes(world)) reduce_all_ways<T>(world, op, count);
                } else {
                    const Buffer<T> data = input<T>(world.rank(), 3);
                    expect_error(ErrorCode::invalid_argument, [&] { world.all_reduce(data.span(), op); });
                }
            }
        });
    });
}

/// The one-shot algorithm is used up to 16 KiB; a half of a slot is 512 KiB.
TEST_P(ReductionsTest, sizes_around_the_thresholds) {
    run([](const ProcessGroup& world) {
        if (world.backend() == "nccl")
            return reduce_all_ways<float>(world, ReduceOp::sum(), 70001);  // has no thresholds
        const bool few = world.backend() == "auto";  // its steps have the thresholds of shm and gloo
        for (const int bytes : few ? std::vector{216, 1200000} : std::vector{16384, 524288, 1200000})
            for (const std::ptrdiff_t more : {-4, 0, 4})
                reduce_all_ways<float>(world, ReduceOp::sum(), static_cast<std::size_t>(bytes + more) / 4);
        for (const int bytes : few ? std::vector{16384} : std::vector{16384, 524288})
            reduce_all_ways<std::int8_t>(world, ReduceOp::max(), static_cast<std::size_t>(bytes) + 1);
        reduce_all_ways<double>(world, ReduceOp::avg(), 70001);
    });
}

TEST_P(ReductionsTest, reduce_scatterv) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), ranks = world.size();
        for (const std::size_t base : {0, 1, 50000}) {
            std::vector<std::size_t> counts;
            std::size_t begin = 0, sum = 0;
            for (int r = 0; r < ranks; ++r) {
                counts.push_back(base * static_cast<std::size_t>(r));  // no elements for rank 0
                if (r < rank) begin += counts.back();
                sum += counts.back();
            }
            const Buffer<float> in = input<float>(rank, sum), out(counts[static_cast<std::size_t>(rank)]);
            world.reduce_scatterv(in.span(), out.span(), counts);
            compare("reduce_scatterv", ReduceOp::sum(), ranks, begin, out);
        }
    });
}

/// Rounding depends on the order of additions, which must be the same on all ranks, in all runs and algorithms.
TEST_P(ReductionsTest, floats_are_bitwise_equal) {
    run([](const ProcessGroup& world) {
        const auto number = [](int rank, std::size_t i) {
            return 1.0F / static_cast<float>(3 + rank + static_cast<int>(i % 97)) * (rank % 2 == 0 ? 1e6F : 1.0F);
        };
        const auto sum = [&](std::size_t count) {
            std::vector<float> data(count);
            for (std::size_t i = 0; i < count; ++i) data[i] = number(world.rank(), i);
            world.all_reduce(data);
            return data;
        };
        const std::vector<float> large = sum(200000), again = sum(200000), small = sum(97);
        check(std::memcmp(large.data(), again.data(), large.size() * 4) == 0, "two runs differ");
        check(std::memcmp(large.data(), small.data(), small.size() * 4) == 0, "two algorithms differ");
        std::vector<float> first = large;
        world.broadcast(first);
        check(std::memcmp(large.data(), first.data(), large.size() * 4) == 0, "two ranks differ");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
