/// scan and exscan, reductions by a function of the program, and the asynchronous calls with counts.

#include <array>
#include <numeric>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using ScansTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, ScansTest, testing::ValuesIn(cases({1, 2, 3, 5})), name_of);

constexpr std::size_t kSizes[] = {0, 1, 7, 20000, 300001};

template <class T>
std::vector<T> operands(int first, int last, std::size_t i) {
    std::vector<T> values;
    for (int r = first; r < last; ++r) values.push_back(element<T>(r, i % kPeriod));
    return values;
}

TEST_P(ScansTest, prefixes) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank();
        const auto test = [&]<class T>(ReduceOp op) {
            for (const std::size_t count : kSizes) {
                const Buffer<T> in = input<T>(rank, count), up_to(count), before = input<T>(77, count);
                world.scan(in.span(), up_to.span(), op);
                world.exscan(in.span(), before.span(), op);
                for (std::size_t i = 0; i < count; i += 1 + count / 50) {
                    check(up_to[i] == combined<T>(op, rank + 1, operands<T>(0, rank + 1, i)), "scan");
                    check(before[i] == (rank == 0 ? element<T>(77, i % kPeriod)
                                                  : combined<T>(op, rank, operands<T>(0, rank, i))),
                          "exscan");
                }
                const Buffer<T> place = input<T>(rank, count), other = input<T>(rank, count);
                world.scan(place.span(), op);
                check(std::equal(place.span().begin(), place.span().end(), up_to.data.get()), "scan in place");
                world.exscan_async(other.span(), op).wait();
                const Buffer<T>& expected = rank == 0 ? in : before;
                check(std::equal(other.span().begin(), other.span().end(), expected.data.get()), "exscan in place");
            }
        };
        test.operator()<int>(ReduceOp::sum());
        test.operator()<double>(ReduceOp::premul_sum(2));
        test.operator()<std::int8_t>(ReduceOp::max());
        test.operator()<std::int16_t>(ReduceOp::avg());
        test.operator()<BFloat16>(ReduceOp::sum());
    });
}

/// Affine maps under composition: associative, not commutative.
struct Affine {
    double factor = 1, shift = 0;
    std::int64_t ranks = 0;
    bool operator==(const Affine&) const = default;
};
const auto kCompose = [](Affine* into, const Affine* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        into[i] = {into[i].factor * from[i].factor, into[i].shift * from[i].factor + from[i].shift,
                   into[i].ranks + from[i].ranks};
};
Affine map_of(int rank, std::size_t i) {
    return {static_cast<double>(1 + (static_cast<std::size_t>(rank) + i) % 2), static_cast<double>(rank), 1};
}
Affine composed(int last, std::size_t i) {
    Affine all = map_of(0, i);
    for (int r = 1; r <= last; ++r) {
        const Affine next = map_of(r, i);
        kCompose(&all, &next, 1);
    }
    return all;
}

TEST_P(ScansTest, functions_get_the_operands_in_the_order_of_ranks) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), last = world.size() - 1;
        for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{70001}}) {
            std::vector<Affine> start(count);
            for (std::size_t i = 0; i < count; ++i) start[i] = map_of(rank, i);
            const auto expect = [&](const char* call, const std::vector<Affine>& got, int highest) {
                for (std::size_t i = 0; i < count; i += 1 + count / 100)
                    check(got[i] == (highest < 0 ? start[i] : composed(highest, i)), call);
            };
            std::vector<Affine> data = start;
            world.all_reduce(data, kCompose);
            expect("all_reduce", data, last);
            data = start;
            world.reduce(data, last, kCompose);
            expect("reduce", data, rank == last ? last : -1);
            data = start;
            world.scan(data, kCompose);
            expect("scan", data, rank);
            data = start;
            world.exscan(data, kCompose);
            expect("exscan", data, rank - 1);
        }
    });
}

TEST_P(ScansTest, functions_of_long_and_overaligned_elements) {
    struct alignas(64) Long {
        std::array<std::uint32_t, 50000> values;
    };
    struct alignas(64) Padded {
        char one;
    };
    run([](const ProcessGroup& world) {
        const auto sum = static_cast<std::uint32_t>(world.size() * (world.size() + 1) / 2);
        std::vector<Long> several(3);
        for (Long& one : several) one.values.fill(static_cast<std::uint32_t>(world.rank() + 1));
        world.all_reduce(several, [](Long* into, const Long* from, std::size_t count) {
            for (std::size_t n = 0; n < count; ++n)
                for (std::size_t i = 0; i < into->values.size(); ++i) into[n].values[i] += from[n].values[i];
        });
        check(several[2].values[49999] == sum && several[0].values[0] == sum, "long elements");
        std::vector<Padded> padded(10);
        world.all_reduce(padded, [](Padded* into, const Padded* from, std::size_t count) {
            for (const void* const address : {static_cast<const void*>(into), static_cast<const void*>(from)})
                if (reinterpret_cast<std::uintptr_t>(address) % alignof(Padded) != 0)
                    throw std::logic_error("not aligned");
            for (std::size_t n = 0; n < count; ++n) into[n].one = static_cast<char>(into[n].one + from[n].one);
        });
        std::vector<std::array<char, 600000>> huge(1);
        expect_error(ErrorCode::invalid_argument,
                     [&] { world.all_reduce(huge, [](auto*, const auto*, std::size_t) {}); });
    });
}

TEST_P(ScansTest, an_exception_of_a_function_ends_the_group) {
    if (GetParam().ranks < 2) return;
    run([](const ProcessGroup& world) {
        std::vector<int> data(3);
        const auto call = [&] {
            world.all_reduce(data, [](int*, const int*, std::size_t) { throw std::runtime_error("no such element"); });
        };
        const Error error = expect_error(ErrorCode::backend, call);
        check(std::string(error.what()).find("no such element") != std::string::npos, error.what());
    });
}

TEST_P(ScansTest, a_function_and_an_operation_are_a_mismatch) {
    if (GetParam().ranks < 2) return;
    run([](const ProcessGroup& world) {
        int one = 1;
        const auto add = [](int* into, const int* from, std::size_t) { *into += *from; };
        const Error error = expect_error(ErrorCode::mismatch, {0, 1}, [&] {
            world.rank() == 1 ? world.all_reduce(one, add) : world.all_reduce(one);
        });
        check(std::string(error.what()).find("all_reduce(int32, 1, a function)") != std::string::npos, error.what());
        world.barrier();
    });
}

/// Rank i sends i + j elements to rank j. The counts are temporaries.
TEST_P(ScansTest, calls_with_counts_overlap_other_work) {
    run([](const ProcessGroup& world) {
        const auto ranks = static_cast<std::size_t>(world.size()), rank = static_cast<std::size_t>(world.rank());
        const auto counts_from = [&](std::size_t first) {
            std::vector<std::size_t> counts(ranks);
            std::iota(counts.begin(), counts.end(), first);
            return counts;
        };
        const std::size_t total = ranks * rank + ranks * (ranks - 1) / 2, all_ranks = ranks * (ranks + 1) / 2;
        std::vector<int> in(total, world.rank()), out(total, -1), some(rank + 1, world.rank()), gathered(all_ranks),
            at_root(all_ranks), back(rank + 1), sums(rank + 1), ones(all_ranks, 1);
        Work works[] = {world.all_to_allv_async(in, counts_from(rank), out, counts_from(rank)),
                        world.all_gatherv_async(some, gathered, counts_from(1)),
                        world.gatherv_async(some, at_root, counts_from(1), 0),
                        world.scatterv_async(gathered, back, counts_from(1), world.size() - 1),
                        world.reduce_scatterv_async(ones, sums, counts_from(1))};
        wait_all(works);
        for (std::size_t r = 0, at = 0; r < ranks; ++r)
            for (std::size_t i = 0; i < rank + r; ++i) check(out[at++] == static_cast<int>(r), "all_to_allv");
        check(gathered.front() == 0 && gathered.back() == world.size() - 1, "all_gatherv");
        check(world.rank() != 0 || at_root == gathered, "gatherv");
        check(back == some, "scatterv");
        check(sums == std::vector(rank + 1, world.size()), "reduce_scatterv");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
