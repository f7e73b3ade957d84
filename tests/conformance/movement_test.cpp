/// Collectives that move data without reducing it: sizes, roots, different lengths, in place and out of place.

#include <numeric>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using MovementTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, MovementTest, testing::ValuesIn(cases({1, 2, 3, 4, 5, 8}, true)), name_of);

constexpr std::size_t kSizes[] = {0, 1, 7, 4097, 140000};

template <class T>
void compare(const char* call, std::span<const T> got, int from, std::size_t begin = 0) {
    for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i] != element<T>(from, begin + i))
            check(false, std::string(call).append(": element ").append(std::to_string(i)) + " is wrong");
}

TEST_P(MovementTest, broadcast) {
    run([](const ProcessGroup& world) {
        for_each_type([&]<class T>() {
            for (const std::size_t count : kSizes) {
                const int root = static_cast<int>(count) % world.size();
                const Buffer<T> data = input<T>(world.rank(), count);
                world.broadcast(data.span(), root);
                compare<T>("broadcast", data.span(), root);
            }
        });
    });
}

TEST_P(MovementTest, gather_and_all_gather) {
    run([](const ProcessGroup& world) {
        const auto rank = static_cast<std::size_t>(world.rank()), ranks = static_cast<std::size_t>(world.size());
        for (const std::size_t count : kSizes) {
            const auto root = count % ranks;
            const Buffer<float> in = input<float>(world.rank(), count), all(count * ranks),
                                own(rank == root ? count * ranks : 0), place(count * ranks);
            world.all_gather(in.span(), all.span());
            world.gather(in.span(), own.span(), static_cast<int>(root));
            std::copy_n(in.data.get(), count, place.data.get() + rank * count);
            world.all_gather(place.span().subspan(rank * count, count), place.span());
            for (std::size_t r = 0; r < ranks; ++r) {
                compare<float>("all_gather", all.span().subspan(r * count, count), static_cast<int>(r));
                compare<float>("all_gather in place", place.span().subspan(r * count, count), static_cast<int>(r));
                if (rank == root) compare<float>("gather", own.span().subspan(r * count, count), static_cast<int>(r));
            }
        }
    });
}

TEST_P(MovementTest, scatter) {
    run([](const ProcessGroup& world) {
        const auto rank = static_cast<std::size_t>(world.rank()), ranks = static_cast<std::size_t>(world.size());
        for (const std::size_t count : kSizes) {
            const auto root = count % ranks;
            const Buffer<double> in = input<double>(world.rank(), rank == root ? count * ranks : 0), out(count);
            world.scatter(in.span(), out.span(), static_cast<int>(root));
            compare<double>("scatter", out.span(), static_cast<int>(root), rank * count);
        }
    });
}

TEST_P(MovementTest, all_to_all) {
    run([](const ProcessGroup& world) {
        const auto rank = static_cast<std::size_t>(world.rank()), ranks = static_cast<std::size_t>(world.size());
        for (const std::size_t count : kSizes) {
            const Buffer<std::uint16_t> in = input<std::uint16_t>(world.rank(), count * ranks), out(count * ranks);
            world.all_to_all(in.span(), out.span());
            for (std::size_t r = 0; r < ranks; ++r)
                compare<std::uint16_t>("all_to_all", out.span().subspan(r * count, count), static_cast<int>(r),
                                       rank * count);
        }
    });
}

TEST_P(MovementTest, blocks_of_different_lengths) {
    run([](const ProcessGroup& world) {
        const auto rank = static_cast<std::size_t>(world.rank()), ranks = static_cast<std::size_t>(world.size());
        for (const std::size_t base : {0, 1, 90000}) {
            std::vector<std::size_t> counts;
            for (std::size_t r = 0; r < ranks; ++r) counts.push_back(base * (r % 3));
            const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0}), root = ranks - 1;
            const Buffer<int> in = input<int>(world.rank(), counts[rank]), all(sum), own(rank == root ? sum : 0),
                              back(counts[rank]);
            world.all_gatherv(in.span(), all.span(), counts);
            world.gatherv(in.span(), own.span(), counts, static_cast<int>(root));
            for (std::size_t r = 0, at = 0; r < ranks; at += counts[r++]) {
                compare<int>("all_gatherv", all.span().subspan(at, counts[r]), static_cast<int>(r));
                if (rank == root) compare<int>("gatherv", own.span().subspan(at, counts[r]), static_cast<int>(r));
            }
            world.scatterv(own.span(), back.span(), counts, static_cast<int>(root));
            compare<int>("scatterv", back.span(), world.rank());

            // Rank i sends base * ((i + j) % 3) elements to rank j.
            std::vector<std::size_t> out_counts;
            for (std::size_t r = 0; r < ranks; ++r) out_counts.push_back(base * ((rank + r) % 3));
            const std::size_t total = std::accumulate(out_counts.begin(), out_counts.end(), std::size_t{0});
            const Buffer<int> from(total), to(total);
            for (std::size_t r = 0, at = 0; r < ranks; at += out_counts[r++])
                for (std::size_t i = 0; i < out_counts[r]; ++i) from[at + i] = element<int>(world.rank(), i, r);
            world.all_to_allv(from.span(), out_counts, to.span(), out_counts);
            for (std::size_t r = 0, at = 0; r < ranks; at += out_counts[r++])
                for (std::size_t i = 0; i < out_counts[r]; ++i)
                    check(to[at + i] == element<int>(static_cast<int>(r), i, rank), "all_to_allv");
        }
    });
}

/// In place: this rank's block of the longer buffer is the shorter one.
TEST_P(MovementTest, in_place) {
    run([](const ProcessGroup& world) {
        const auto rank = static_cast<std::size_t>(world.rank()), ranks = static_cast<std::size_t>(world.size());
        for (const std::size_t base : {1, 30000}) {
            std::vector<std::size_t> counts;
            for (std::size_t r = 0; r < ranks; ++r) counts.push_back(base + r);
            const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
            const std::size_t begin = std::accumulate(counts.begin(), counts.begin() + world.rank(), std::size_t{0});
            const Buffer<int> all(sum), same(base * ranks);
            const auto mine = all.span().subspan(begin, counts[rank]), block = same.span().subspan(rank * base, base);
            std::fill(mine.begin(), mine.end(), world.rank());
            std::fill(block.begin(), block.end(), world.rank());
            world.gatherv(mine, all.span(), counts, world.size() - 1);
            world.all_gatherv(mine, all.span(), counts);
            world.gather(block, same.span(), 0);
            world.all_gather(block, same.span());
            for (std::size_t r = 0, at = 0; r < ranks; at += counts[r++])
                check(all[at] == static_cast<int>(r) && all[at + counts[r] - 1] == static_cast<int>(r) &&
                          same[r * base] == static_cast<int>(r) && same[r * base + base - 1] == static_cast<int>(r),
                      "gathered in place");
            world.reduce_scatterv(all.span(), mine, counts);
            world.reduce_scatter(same.span(), block);
            const int expected = world.rank() * world.size();
            check(mine.front() == expected && mine.back() == expected && block.front() == expected &&
                      block.back() == expected,
                  "reduce_scatter in place");
            world.all_gatherv(mine, all.span(), counts);
            world.scatterv(all.span(), mine, counts, world.size() - 1);
            world.all_gather(block, same.span());
            world.scatter(same.span(), block, 0);
            check(mine.front() == expected && mine.back() == expected && block.front() == expected &&
                      block.back() == expected,
                  "scattered in place");
        }
    });
}

TEST_P(MovementTest, strings) {
    run([](const ProcessGroup& world) {
        std::string text = "from rank " + std::to_string(world.rank());
        const auto all = world.all_gather_object(text + std::string(static_cast<std::size_t>(world.rank()), '!'));
        for (int r = 0; r < world.size(); ++r)
            check(all[static_cast<std::size_t>(r)] ==
                      "from rank " + std::to_string(r) + std::string(static_cast<std::size_t>(r), '!'),
                  "all_gather_object");
        const auto gathered = world.gather_object(text, world.size() - 1);
        check(gathered.size() == (world.rank() == world.size() - 1 ? static_cast<std::size_t>(world.size()) : 0),
              "gather_object");
        world.broadcast_object(text, world.size() - 1);
        check(text == "from rank " + std::to_string(world.size() - 1), "broadcast_object");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
