#include "launcher/start/last_words.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

TEST(LastWords, keeps_the_last_lines_whatever_the_pieces) {
    LastWords words;
    for (int line = 0; line < 20; ++line) {
        words.add("li");
        words.add("ne " + std::to_string(line) + "\r\n\n");
    }
    words.add("unfinished");
    EXPECT_EQ(words.text(), "line 15; line 16; line 17; line 18; line 19; unfinished");
}

TEST(LastWords, escapes_and_bounds_a_line) {
    LastWords words;
    words.add("\x1b[31m" + std::string(10'000, 'x'));
    EXPECT_TRUE(words.text().starts_with("\\x1b[31mxxx")) << words.text();
    EXPECT_LT(words.text().size(), 2 * LastWords::kMostLineBytes);
}

}  // namespace
}  // namespace dlaunch::launcher
