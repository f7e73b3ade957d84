#include "agent/logs/live/line_model.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

std::string line(std::string_view bytes) { return line_of(bytes).finish(); }

TEST(LineModel, AppliesTheStatesOfABar) {
    EXPECT_EQ(line("10%\r50%\r100%"), "100%");
    EXPECT_EQ(line("a long state\rshort"), "shortg state");
    EXPECT_EQ(line("a long state\rshort\x1b[K"), "short");
    EXPECT_EQ(line("abc\b\bX"), "aXc");
    EXPECT_EQ(line("\x1b[4Gx\x1b[2Dy"), "  yx");
}

TEST(LineModel, IsBlankOnceItsTextIsOverwritten) {
    EXPECT_TRUE(LineModel().is_blank());
    EXPECT_FALSE(line_of("50%").is_blank());
    EXPECT_TRUE(line_of("50%\r   \r").is_blank());
    EXPECT_EQ(line("50%\r   \r"), "");
}

TEST(LineModel, KeepsBlanksThatOverwriteNothing) { EXPECT_EQ(line("a  "), "a  "); }

TEST(LineModel, IsRedrawnByABar) {
    EXPECT_TRUE(line_of("\r 10%").is_redrawn());
    EXPECT_TRUE(line_of("10%\x1b[2K\x1b[1G20%").is_redrawn());
    EXPECT_FALSE(line_of("text").is_redrawn());
    EXPECT_FALSE(line_of("text\x1b[K of grep\r").is_redrawn());
}

TEST(LineModel, IsCutByColumns) {
    const LineModel model = line_of(
        "\x1b[1mab\xE6\xBC\xA2"
        "cd");
    EXPECT_EQ(model.text(3), "\x1b[0;1mab\x1b[0m") << "a wide character needs two";
    EXPECT_EQ(model.width(3), 2U);
    EXPECT_EQ(model.text(5),
              "\x1b[0;1mab\xE6\xBC\xA2"
              "c\x1b[0m");
    EXPECT_EQ(model.width(100), 6U);
}

TEST(LineModel, ExpandsTabs) { EXPECT_EQ(line("a\tb"), "a       b"); }

TEST(LineModel, BoundsTheJumpsOfTheCursor) {
    EXPECT_LT(line("\x1b[999999999Gx").size(), 5000U);
    std::string jumps;
    for (int jump = 0; jump < 1000; ++jump) jumps += "\x1b[9999C";
    EXPECT_LT(line(jumps + "x").size(), 5000U);
}

TEST(Style, SetsAndClearsAttributes) {
    Style style;
    style.apply("1;4;38;5;208;48;2;1;2;3");
    EXPECT_EQ(style.sequence(), "\x1b[0;1;4;38;5;208;48;2;1;2;3m");
    style.apply("22;24;39");
    EXPECT_EQ(style.sequence(), "\x1b[0;48;2;1;2;3m");
    style.apply("");
    EXPECT_TRUE(style.is_plain());
    style.apply("38;5");
    EXPECT_TRUE(style.is_plain());
}

}  // namespace
}  // namespace dlaunch::agent
