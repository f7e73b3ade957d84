#include "launcher/cli/split.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

TEST(CommaList, TwoCommasAreOne) {
    EXPECT_EQ(comma_list("a,,b,c"), (Words{"a,b", "c"}));
    EXPECT_EQ(comma_list("apple, range"), (Words{"apple", " range"})) << "blanks are part of what is looked for";
    EXPECT_EQ(comma_list(",,"), (Words{","}));
    EXPECT_EQ(comma_list("a,,,b"), (Words{"a,", "b"}));
}

TEST(CommaList, LeavesOutEmptyParts) {
    EXPECT_EQ(comma_list(""), Words{}) << "an empty filter would match every line";
    EXPECT_EQ(comma_list("a,"), (Words{"a"}));
}

TEST(ShellWords, Quotes) {
    EXPECT_EQ(*shell_words("  gdb --args  "), (Words{"gdb", "--args"}));
    EXPECT_EQ(*shell_words("a'b c'd \"e 'f'\" ''"), (Words{"ab cd", "e 'f'", ""}));
    EXPECT_EQ(*shell_words(R"(a\ b \' "\"\x" '\')"), (Words{"a b", "'", R"("\x)", R"(\)"}));
    EXPECT_EQ(*shell_words("out.${rank} $HOME *"), (Words{"out.${rank}", "$HOME", "*"})) << "nothing is expanded";
    EXPECT_EQ(*shell_words(""), Words{});
}

TEST(ShellWords, AnUnclosedQuoteIsAnError) {
    EXPECT_EQ(shell_words("a 'b").error().text, "expected a closing '");
    EXPECT_EQ(shell_words("a \"b").error().text, "expected a closing \"");
    EXPECT_FALSE(shell_words("a\\"));
}

}  // namespace
}  // namespace dlaunch::launcher
