#include "worker_lib/src/hierarchy/levels.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/worker_lib/layout.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

using Ranks = std::vector<int>;

TEST(LayoutTest, numbers_hosts_by_their_lowest_rank) {
    const Layout two = layout("bbaa");
    EXPECT_EQ(two.ranks, (std::vector<Ranks>{{0, 1}, {2, 3}}));
    EXPECT_EQ(two.host_of, (Ranks{0, 0, 1, 1}));
    EXPECT_EQ(two.local_of, (Ranks{0, 1, 0, 1}));
    EXPECT_TRUE(two.regular);
}

TEST(LayoutTest, has_as_many_planes_as_the_smallest_host_has_ranks) {
    const Layout uneven = layout("aaabb");
    EXPECT_EQ(uneven.planes, 2);
    EXPECT_EQ(uneven.most, 3);
    EXPECT_EQ(uneven.plane(0), (Ranks{0, 3}));
    EXPECT_EQ(uneven.plane(1), (Ranks{1, 4}));
    EXPECT_FALSE(uneven.regular);
}

TEST(LayoutTest, of_hosts_whose_ranks_alternate_is_not_regular) {
    const Layout mixed = layout("abab");
    EXPECT_EQ(mixed.ranks, (std::vector<Ranks>{{0, 2}, {1, 3}}));
    EXPECT_EQ(mixed.plane(1), (Ranks{2, 3}));
    EXPECT_FALSE(mixed.regular);
}

}  // namespace
}  // namespace dlaunch::worker::hierarchy
