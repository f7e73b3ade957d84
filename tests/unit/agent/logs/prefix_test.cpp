#include "agent/logs/prefix.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

std::string expand(std::string_view text) { return expand_prefix(text, {"trainer", "1", "9", "node2"}); }

TEST(Prefix, replaces_every_macro_in_both_spellings) {
    EXPECT_EQ(expand("[${role_name}${local_rank}]:"), "[trainer1]:");
    EXPECT_EQ(expand("${rank}@${hostname} "), "9@node2 ");
    EXPECT_EQ(expand("$rank|$local_rank|$role_name|$hostname"), "9|1|trainer|node2");
}

TEST(Prefix, takes_the_longest_name) { EXPECT_EQ(expand("$rank_ $ranks $rank-"), "$rank_ $ranks 9-"); }

TEST(Prefix, leaves_unknown_names) {
    EXPECT_EQ(expand("${other} $other ${rank ${} $ ${ra nk} $1"), "${other} $other ${rank ${} $ ${ra nk} $1");
    EXPECT_EQ(expand("cost: 5$"), "cost: 5$");
    EXPECT_EQ(expand(""), "");
}

TEST(Prefix, halves_double_dollars) { EXPECT_EQ(expand("$$rank $$$rank $${rank}"), "$rank $9 ${rank}"); }

TEST(Prefix, does_not_expand_values) { EXPECT_EQ(expand_prefix("${role_name}", {"$rank", "0", "0", "h"}), "$rank"); }

TEST(Prefix, colours_differ_between_ranks_and_an_empty_text_has_none) {
    EXPECT_EQ(coloured("[a0]:", 0), "\x1b[36m[a0]:\x1b[0m");
    EXPECT_NE(coloured("x", 0), coloured("x", 1));
    EXPECT_EQ(coloured("x", 3), coloured("x", 13));
    EXPECT_EQ(coloured("", 3), "");
}

TEST(Prefix, colours_depend_on_no_color_and_term) {
    EXPECT_TRUE(wants_colours(nullptr, "xterm"));
    EXPECT_TRUE(wants_colours("", nullptr));
    EXPECT_FALSE(wants_colours("1", "xterm"));
    EXPECT_FALSE(wants_colours(nullptr, "dumb"));
}

TEST(Prefix, timestamps_are_utc_with_milliseconds) {
    using namespace std::chrono;
    EXPECT_EQ(timestamp(system_clock::time_point{seconds(1795249246) + milliseconds(7)}), "2026-11-21T08:20:46.007Z ");
    EXPECT_EQ(timestamp(system_clock::time_point{milliseconds(999)}), "1970-01-01T00:00:00.999Z ");
}

TEST(LinePrefixes, name_the_roles_of_a_line_once_and_its_ranks_as_ranges) {
    LinePrefixes prefixes("[$role_name$local_rank|$rank]:", "node2", {"ps", "worker", "worker", "worker"});
    for (const auto& [local_rank, rank] : {std::pair{0, 1}, {1, 4}, {2, 5}, {3, 6}})
        prefixes.set_rank(local_rank, rank);
    EXPECT_EQ(prefixes.of({0}), "[ps0|1]:");
    EXPECT_EQ(prefixes.of({1, 2, 3}), "[worker1-3|4-6]:");
    EXPECT_EQ(prefixes.of({0, 1, 3}), "[ps,worker0-1,3|1,4,6]:");
    EXPECT_EQ(prefixes.of_template(), "[template|template]:");
    prefixes.set_rank(0, 0);
    EXPECT_EQ(prefixes.of({0}), "[ps0|0]:") << "in the next round";
}

}  // namespace
}  // namespace dlaunch::agent
