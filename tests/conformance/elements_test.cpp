/// Elements that are no numbers: structs, enums, arrays; and complex numbers, which are.

#include <array>
#include <complex>
#include <numeric>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using ElementsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, ElementsTest, testing::ValuesIn(cases({1, 2, 3, 5}, true)), name_of);

struct Particle {
    int id = -1;
    double where[3] = {};
    char kind = ' ';
    bool operator==(const Particle&) const = default;
};
enum class Colour : std::int16_t { red, green };
/// Larger than a slot of shared memory, a frame and a segment.
struct Large {
    std::array<int, 300000> values;
};

Particle particle(int rank, std::size_t i) {
    Particle made;
    made.id = rank * 1000 + static_cast<int>(i);
    made.where[2] = static_cast<double>(i);
    made.kind = static_cast<char>('a' + rank);
    return made;
}

TEST_P(ElementsTest, structs_move) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank();
        const auto ranks = static_cast<std::size_t>(world.size()), own = static_cast<std::size_t>(rank);
        for (const std::size_t count : {1U, 30000U}) {
            std::vector<Particle> mine(count), all(count * ranks), back(count), swapped(count * ranks);
            for (std::size_t i = 0; i < count; ++i) mine[i] = particle(rank, i);
            const auto last = [&](std::size_t block) { return all[block * count + count - 1]; };
            world.all_gather(mine, all);
            for (std::size_t r = 0; r < ranks; ++r)
                check(last(r) == particle(static_cast<int>(r), count - 1), "all_gather");
            world.scatter(all, back, world.size() - 1);
            check(back == mine, "scatter");
            world.all_to_all(all, swapped);
            for (std::size_t r = 0; r < ranks; ++r)
                check(std::equal(mine.begin(), mine.end(), swapped.begin() + static_cast<long>(r * count)),
                      "all_to_all");
            std::vector<Particle> news = mine;
            world.broadcast(news, 0);
            check(news.back() == particle(0, count - 1), "broadcast");
            std::vector<std::size_t> counts(ranks, count);
            counts[0] = 1;
            std::vector<Particle> some(own == 0 ? 1 : count), gathered(count * (ranks - 1) + 1);
            some.back() = particle(rank, 7);
            world.all_gatherv(some, gathered, counts);
            check(gathered[0] == particle(0, 7) && gathered.back() == particle(world.size() - 1, 7), "all_gatherv");
        }
    });
}

TEST_P(ElementsTest, single_objects_and_enums) {
    run([](const ProcessGroup& world) {
        Particle one = particle(world.rank(), 1);
        std::vector<Particle> all(static_cast<std::size_t>(world.size()));
        world.all_gather(one, all);
        check(all.back() == particle(world.size() - 1, 1), "all_gather of one");
        Colour colour = world.rank() == 0 ? Colour::green : Colour::red;
        world.broadcast(colour);
        check(colour == Colour::green, "an enum");
        std::array<double, 3> row{1.0 * world.rank(), 2, 3};
        std::vector<std::array<double, 3>> rows(all.size());
        world.all_gather(row, rows);
        check(rows.back() == std::array<double, 3>{1.0 * world.size() - 1, 2, 3}, "a row, and rows");
        const auto large = std::make_unique<Large>();
        large->values.fill(world.rank());
        world.broadcast(*large, world.size() - 1);
        check(large->values[0] == world.size() - 1 && large->values[299999] == world.size() - 1, "a large object");
    });
}

TEST_P(ElementsTest, structs_are_sent) {
    if (GetParam().ranks < 2 || GetParam().backend == "nccl") return;  // it sends no host memory
    run([](const ProcessGroup& world) {
        if (world.rank() > 1) return;
        std::vector<Particle> data(5000);
        if (world.rank() == 0) {
            data[4999] = particle(0, 4999);
            return world.send(data, 1);
        }
        const Received got = world.recv(data, 0);
        check(got.count == 5000 && data[4999] == particle(0, 4999), "what was received");
    });
}

TEST_P(ElementsTest, sizes_that_differ_are_a_mismatch) {
    if (GetParam().ranks < 2 || GetParam().backend == "nccl") return;  // NCCL's calls are compared after a time-out
    run([](const ProcessGroup& world) {
        Particle particle;
        std::array<char, 5> text{};
        std::vector<std::array<char, 5>> texts{text};
        expect_error(ErrorCode::mismatch,
                     [&] { world.rank() == 0 ? world.broadcast(particle) : world.broadcast(texts); });
        world.barrier();
    });
}

TEST_P(ElementsTest, complex_numbers_are_reduced) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), size = world.size();
        for (const std::size_t count : {1U, 1000U, 100000U}) {
            using Number = std::complex<float>;
            std::vector<Number> x(count, {static_cast<float>(rank + 1), -1}), out(count);
            const Number sum(static_cast<float>(size * (size + 1) / 2), static_cast<float>(-size));
            world.all_reduce(x, out);
            check(out.front() == sum && out.back() == sum, "sum");
            world.all_reduce(x, out, ReduceOp::premul_sum(2));
            check(out.back() == 2.0F * sum, "premul_sum");
            world.all_reduce(x, out, ReduceOp::avg());
            check(std::abs(out.back() - sum / static_cast<float>(size)) < 1e-5F, "avg");
            std::vector<std::complex<double>> i(count, {0, 1});
            world.all_reduce(i, ReduceOp::product());
            check(std::abs(i.back() - std::pow(std::complex<double>(0, 1), size)) < 1e-9, "product");
        }
        std::complex<double> one;
        for (const ReduceOp op : {ReduceOp::min(), ReduceOp::max(), ReduceOp::band()})
            expect_error(ErrorCode::invalid_argument, [&] { world.all_reduce(one, op); });
        world.barrier();
    });
}

/// 100 and 100 are 100 on the average, not -28.
TEST_P(ElementsTest, averages_of_short_integers_do_not_wrap) {
    run([](const ProcessGroup& world) {
        for (const std::size_t count : {1U, 50000U}) {
            std::vector<std::int8_t> a(count, 100);
            std::vector<std::uint8_t> b(count, 200);
            std::vector<std::int16_t> c(count, -30000);
            std::vector<std::uint16_t> d(count * static_cast<std::size_t>(world.size()), 60000), e(count);
            world.all_reduce(a, ReduceOp::avg());
            world.all_reduce(b, ReduceOp::avg());
            world.all_reduce(c, ReduceOp::avg());
            world.reduce_scatter(d, e, ReduceOp::avg());
            check(a.back() == 100 && b.back() == 200 && c.back() == -30000 && e.back() == 60000, "an average");
        }
    });
}

}  // namespace
}  // namespace dlaunch::conformance
