#include "agent/logs/last_line.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

struct Line : LastLine {
    base::Time now{100s};
    const std::string& after(std::string_view bytes) {
        now += 1s;
        add(bytes, now);
        return text();
    }
};

TEST(LastLine, IsTheLastOneThatIsNotBlank) {
    Line line;
    EXPECT_EQ(line.text(), "");
    EXPECT_EQ(line.after("step 1\nstep 2\n\n  \n"), "step 2");
}

TEST(LastLine, OfEachPiece) {
    Line line;
    EXPECT_EQ(line.after("step 1\nstep 2\n"), "step 2");
    EXPECT_EQ(line.at(), base::Time(101s));
    EXPECT_EQ(line.after("\n"), "step 2") << "a blank line";
    EXPECT_EQ(line.at(), base::Time(101s));
    EXPECT_EQ(line.after("ste"), "ste");
    EXPECT_EQ(line.after("p 3\n"), "step 3");
    EXPECT_EQ(line.at(), base::Time(104s));
}

TEST(LastLine, IsTheLastStateOfARedrawnLine) {
    Line line;
    EXPECT_EQ(line.after("10 %\r20 %\r"), "20 %");
    EXPECT_EQ(line.after("\r30 %"), "30 %");
    EXPECT_EQ(line.after("\ndone\n"), "done");
}

TEST(LastLine, IsCut) {
    Line line;
    EXPECT_EQ(line.after(std::string(1000, 'x')), std::string(LastLine::kMostBytes, 'x'));
    EXPECT_EQ(line.after(std::string(1000, 'y') + "\n"), std::string(LastLine::kMostBytes, 'x'));
    EXPECT_EQ(line.after("z\n"), "z");
}

}  // namespace
}  // namespace dlaunch::agent
