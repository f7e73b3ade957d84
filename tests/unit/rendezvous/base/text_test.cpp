#include "rendezvous/base/text.hpp"

#include <gtest/gtest.h>

namespace dlaunch::base {
namespace {

TEST(Trimmed, blanks_at_the_ends_only) {
    EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
    EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Text, in_lower_case) { EXPECT_EQ(in_lower_case("Caf\u00c9 Z[@9"), "caf\u00c9 z[@9"); }

TEST(Split, keeps_empty_parts) {
    EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
    EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

std::string filled(std::string_view text, TwoDollars two_dollars = TwoDollars::kept) {
    return substitute(text, two_dollars, {{"rank", "7"}, {"local_rank", "3"}});
}

TEST(Substitute, names_with_and_without_braces) {
    EXPECT_EQ(filled("$rank ${rank}x$local_rank"), "7 7x3");
    EXPECT_EQ(filled("$rank1 ${rank $Rank ${other} $ ${} $"), "$rank1 ${rank $Rank ${other} $ ${} $");
    EXPECT_EQ(filled(""), "");
}

TEST(Substitute, two_dollars_are_kept_or_one) {
    EXPECT_EQ(filled("$$rank kill $$"), "$$rank kill $$");
    EXPECT_EQ(filled("$$rank $$$rank", TwoDollars::one), "$rank $7");
}

TEST(Text, number_ranges_join_neighbours) {
    EXPECT_EQ(number_ranges({}, ","), "");
    EXPECT_EQ(number_ranges({5}, ","), "5");
    EXPECT_EQ(number_ranges({0, 1, 2, 3, 8}, ","), "0-3,8");
    EXPECT_EQ(number_ranges({8, 3, 2, 2, 0}, ", "), "0, 2-3, 8");
}

}  // namespace
}  // namespace dlaunch::base
