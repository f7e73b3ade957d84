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
    EXPECT_TRUE(causes.is_later("a"));
    EXPECT_TRUE(causes.is_later("c"));
    EXPECT_FALSE(causes.is_later("b"));
    EXPECT_FALSE(causes.is_later("d")) << "it has reported none";
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

}  // namespace
}  // namespace dlaunch::rendezvous
