#include "rendezvous/rounds/removed_nodes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{1h};

void add(RemovedNodes& removed, Time now, std::size_t count, const std::string& prefix) {
    for (std::size_t n = 0; n < count; ++n) removed.add(now, fmt::format("{}{}", prefix, n), 1);
}

TEST(RemovedNodes, the_latest_incarnation_of_each_counts) {
    RemovedNodes removed;
    EXPECT_EQ(removed.incarnation("a"), std::nullopt);
    removed.add(kNow, "a", 1);
    removed.add(kNow, "b", 7);
    removed.add(kNow + 1s, "a", 2);
    EXPECT_EQ(removed.incarnation("a"), 2U);
    EXPECT_EQ(removed.incarnation("b"), 7U);
    EXPECT_EQ(removed.size(), 2U);
}

TEST(RemovedNodes, few_are_known_for_ever) {
    RemovedNodes removed;
    add(removed, kNow, 1'023, "a");
    removed.add(kNow + 1000h, "b", 1);
    EXPECT_EQ(removed.size(), 1'024U);
}

TEST(RemovedNodes, of_many_those_of_ten_minutes_are_known) {
    RemovedNodes removed;
    add(removed, kNow, 2'000, "a");
    add(removed, kNow + 1s, 2'000, "b");
    removed.add(kNow + 2s, "a0", 2);
    removed.add(kNow + 600s - 1ms, "c", 1);
    EXPECT_EQ(removed.size(), 4'001U);
    removed.add(kNow + 600s, "c", 2);
    EXPECT_EQ(removed.size(), 2'002U);
    EXPECT_EQ(removed.incarnation("a1"), std::nullopt);
    EXPECT_EQ(removed.incarnation("a0"), 2U) << "removed again later";
    EXPECT_EQ(removed.incarnation("b0"), 1U);
}

TEST(RemovedNodes, never_more_than_65536_are_known) {
    RemovedNodes removed;
    add(removed, kNow, 65'536, "a");
    EXPECT_EQ(removed.incarnation("a0"), 1U);
    removed.add(kNow, "b", 1);
    EXPECT_EQ(removed.size(), 65'536U);
    EXPECT_EQ(removed.incarnation("a0"), std::nullopt) << "the oldest";
    EXPECT_EQ(removed.incarnation("a1"), 1U);
}

}  // namespace
}  // namespace dlaunch::rendezvous
