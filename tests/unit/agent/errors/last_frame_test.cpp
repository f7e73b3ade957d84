#include "agent/errors/last_frame.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Lines = std::vector<std::string>;

const Lines kTraceback = {
    "Traceback (most recent call last):", "  File \"/t.py\", line 9, in <module>", "    main()",      "    ~~~~^^",
    "  File \"/t.py\", line 2, in inner", "    raise ValueError(\"NaN\")",         "ValueError: NaN", "a later line"};

TEST(LastFrame, HasTheLineAndItsSource) {
    EXPECT_EQ(last_frame(kTraceback, "ValueError: NaN"),
              (Lines{"File \"/t.py\", line 2, in inner", "  raise ValueError(\"NaN\")"}));
}

TEST(LastFrame, IsThatOfTheMessage) {
    Lines two = kTraceback;
    two.insert(two.end(), {"Traceback (most recent call last):", "  File \"/u.py\", line 1, in f", "KeyError: 1"});
    EXPECT_EQ(last_frame(two, "ValueError: NaN").front(), "File \"/t.py\", line 2, in inner");
    EXPECT_EQ(last_frame(two, "KeyError: 1"), (Lines{"File \"/u.py\", line 1, in f"}));
    EXPECT_EQ(last_frame(two, "").front(), "File \"/u.py\", line 1, in f");
}

TEST(LastFrame, LeavesTorchsPrefixOut) {
    EXPECT_EQ(last_frame({"[rank1]:   File \"/t.py\", line 2, in f", "[rank1]:     g()", "[rank1]: E: x"}, "E: x"),
              (Lines{"File \"/t.py\", line 2, in f", "  g()"}));
}

TEST(LastFrame, IsEmptyWithoutATraceback) {
    EXPECT_EQ(last_frame({"assertion failed", "abort"}, "abort"), Lines());
    EXPECT_EQ(last_frame({}, "abort"), Lines());
}

TEST(LinesOf, SplitsATextAtEachLineEnd) {
    EXPECT_EQ(lines_of("a\r\nb\n\nc"), (Lines{"a", "b", "", "c"}));
    EXPECT_EQ(lines_of(""), Lines());
}

}  // namespace
}  // namespace dlaunch::agent
