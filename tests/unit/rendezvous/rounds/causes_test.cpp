#include "rendezvous/rounds/causes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch::rendezvous {
namespace {

Cause cause(const std::string& summary, std::uint8_t strength, std::string record = {}) {
    Cause made;
    made.summary = summary;
    made.strength = strength;
    made.record = std::move(record);
    return made;
}

TEST(Causes, TheFirstIsTheStrongestAndOfThoseTheEarliest) {
    Causes causes;
    causes.add("a", cause("lost a peer", 4));
    EXPECT_EQ(causes.first().summary, "lost a peer");
    causes.add("b", cause("own error", 1));
    causes.add("c", cause("another error", 1));
    EXPECT_EQ(causes.first().summary, "own error");
}

TEST(Causes, ALaterReportOfANodeReplacesTheEarlierOne) {
    Causes causes;
    causes.add("a", cause("lost a peer", 4));
    causes.add("b", cause("lost a peer, too", 4));
    causes.add("b", cause("own error", 1));
    EXPECT_EQ(causes.first().summary, "own error");
}

TEST(Causes, AStrongerOneReplacesTheLatestOfTheWeakest) {
    Causes causes;
    for (std::size_t node = 0; node < Causes::kMost; ++node)
        causes.add(std::to_string(node), cause(std::to_string(node), 4, std::to_string(node)));
    causes.add("weak", cause("weak", 4, "weak"));
    causes.add("strong", cause("strong", 0, "strong"));
    EXPECT_EQ(causes.first().summary, "strong");
    const auto records = causes.records();
    EXPECT_EQ(records.size(), Causes::kMost);
    EXPECT_EQ(records[0], "strong");
    EXPECT_EQ(records[1], "0") << "the earliest of the weak ones stays";
    EXPECT_EQ(records.back(), std::to_string(Causes::kMost - 2));
}

Cause at(Milliseconds after, std::uint8_t strength, std::int32_t status) {
    Cause made = cause("after " + std::to_string(after.count()), strength);
    made.after = after;
    made.status = status;
    return made;
}

TEST(Causes, ANamedRankDoesNotTakeTheMessageOfTheOneThatNamesIt) {
    Causes causes;
    Cause lost = cause("lost a peer", 4);
    lost.message = "Connection closed by peer";
    causes.add("a", lost);
    causes.name(2, "rank 2 was named as lost");
    EXPECT_EQ(causes.first().message, "");
}

TEST(Causes, AnExitWith0ShortlyBeforeALostPeerIsTheFirstCauseWithItsStatus) {
    Causes causes;
    causes.add("a", at(Milliseconds(2000), 4, 7));
    causes.add_early_exit("b", at(Milliseconds(999), Cause::kEarlyExit, 0));
    EXPECT_EQ(causes.first().summary, "after 2000") << "long before";
    causes.add_early_exit("c", at(Milliseconds(1900), Cause::kEarlyExit, 0));
    EXPECT_EQ(causes.first().summary, "after 1900");
    EXPECT_EQ(causes.first().status, 7);
    causes.add_early_exit("d", at(Milliseconds(1800), Cause::kEarlyExit, 0));
    causes.add_early_exit("e", at(Milliseconds(1850), Cause::kEarlyExit, 0));
    EXPECT_EQ(causes.first().summary, "after 1800") << "the earliest";
    EXPECT_EQ(causes.first().status, 7);
}

TEST(Causes, AnExitWith0BesideAnErrorIsNoCause) {
    Causes causes;
    causes.add("a", at(Milliseconds(2000), 1, 7));
    causes.add_early_exit("b", at(Milliseconds(1900), Cause::kEarlyExit, 0));
    EXPECT_EQ(causes.first().summary, "after 2000");
}

}  // namespace
}  // namespace dlaunch::rendezvous
