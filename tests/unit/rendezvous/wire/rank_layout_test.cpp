#include "rendezvous/wire/rank_layout.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace dlaunch::rendezvous {
namespace {

const RankLayout kTwo{{{.count = 1, .first_rank = 2, .first_role_rank = 0, .role_world_size = 1},
                       {.count = 3, .first_rank = 7, .first_role_rank = 4, .role_world_size = 9}}};

TEST(RankLayout, local_ranks_count_through_the_blocks) {
    EXPECT_EQ(kTwo.workers(), 4);
    EXPECT_EQ(kTwo.rank(0), 2);
    EXPECT_EQ(kTwo.rank(1), 7);
    EXPECT_EQ(kTwo.rank(3), 9);
    EXPECT_EQ(kTwo.role_rank(0), 0);
    EXPECT_EQ(kTwo.role_rank(3), 6);
    EXPECT_EQ(kTwo.role_world_size(0), 1);
    EXPECT_EQ(kTwo.role_world_size(1), 9);
}

TEST(RankLayout, has_no_other_ranks) {
    EXPECT_THROW(static_cast<void>(kTwo.rank(4)), std::out_of_range);
    EXPECT_THROW(static_cast<void>(RankLayout{}.rank(0)), std::out_of_range);
    EXPECT_EQ(RankLayout{}.workers(), 0);
    EXPECT_TRUE(RankLayout{}.ranges().empty());
}

TEST(RankLayout, adjacent_blocks_are_one_range) {
    const RankLayout layout{{{2, 0, 0, 2}, {1, 2, 0, 1}, {2, 5, 0, 2}}};
    EXPECT_EQ(layout.ranges(), (std::vector<RankRange>{{0, 3}, {5, 2}}));
    EXPECT_EQ(layout.text(), "0-2,5-6");
    EXPECT_EQ((RankLayout{{{1, 4, 0, 1}}}).text(), "4");
}

TEST(RankRanges, AreUnitedInOrder) {
    RankRanges ranges = ranges_of({5, 1, 2, 2});
    EXPECT_EQ(ranges, (RankRanges{{1, 2}, {5, 1}}));
    unite(ranges, {{3, 2}, {8, 3}});
    EXPECT_EQ(ranges, (RankRanges{{1, 5}, {8, 3}}));
    unite(ranges, {{0, 100}});
    EXPECT_EQ(ranges, (RankRanges{{0, 100}}));
    EXPECT_EQ(ranks_of({{1, 2}, {8, 1}}), (std::vector<std::int32_t>{1, 2, 8}));
    EXPECT_EQ(ranges_of({}), RankRanges{});
}

}  // namespace
}  // namespace dlaunch::rendezvous
