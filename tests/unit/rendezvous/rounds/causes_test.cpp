#include "rendezvous/rounds/causes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

Cause cause(const std::string& record) { return {1, "kind", "summary of " + record.substr(0, 8), false, record}; }

TEST(Causes, keep_the_order_of_their_reports) {
    Causes causes;
    causes.add("b", cause("b"));
    causes.add("a", cause("a"));
    EXPECT_EQ(causes.first().record, "b");
    EXPECT_EQ(causes.records(), (std::vector<std::string>{"b", "a"}));
}

TEST(Causes, only_one_is_the_first) {
    Causes causes;
    causes.add("b", cause("b"));
    causes.add("a", cause("a"));
    EXPECT_FALSE(causes.is_later("b"));
    EXPECT_TRUE(causes.is_later("a"));
    EXPECT_FALSE(causes.is_later("c"));
}

TEST(Causes, a_later_report_of_a_node_replaces_its_first) {
    Causes causes;
    causes.add("b", cause(""));
    causes.add("a", cause("a"));
    causes.add("b", cause("b, whole"));
    EXPECT_EQ(causes.records(), (std::vector<std::string>{"b, whole", "a"}));
}

TEST(Causes, of_no_more_nodes_than_a_report_shows) {
    Causes causes;
    for (int node = 0; node < 100; ++node) causes.add(fmt::format("{}", node), cause(fmt::format("{}", node)));
    EXPECT_EQ(causes.records().size(), Causes::kMost);
    EXPECT_EQ(causes.records().back(), "15");
}

TEST(Causes, of_no_more_bytes_than_ten_thousand_agents_can_be_sent) {
    Causes causes;
    causes.add("first", cause(std::string(2 * Causes::kMostBytes, 'f')));
    causes.add("second", cause("small"));
    EXPECT_EQ(causes.records().size(), 1U) << "the first whatever its size";

    causes.clear();
    for (int node = 0; node < 3; ++node)
        causes.add(fmt::format("{}", node), cause(std::string(Causes::kMostBytes / 2 - 1, 'x')));
    causes.add("small", cause("s"));
    EXPECT_EQ(causes.records().size(), 3U) << "two large ones and the small one";
}

}  // namespace
}  // namespace dlaunch::rendezvous
