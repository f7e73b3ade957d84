#include "agent/process/helper.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

/// The result of a program that may run for `limit`.
Helper::Result result_of(const std::vector<std::string>& words, base::Duration limit = 20s) {
    base::Loop loop;
    Children children;
    Helper helper(loop, children);
    Helper::Result found;
    helper.run(words, {{"PATH", "/usr/bin:/bin"}, {"GIVEN", "value"}}, limit, [&](const Helper::Result& result) {
        found = result;
        loop.stop();
    });
    loop.run();
    EXPECT_TRUE(limit < 20s || children.lasting().empty());
    return found;
}

TEST(Helper, StatusAndOutputOfAProgram) {
    const auto result = result_of({"sh", "-c", "echo $GIVEN; echo error >&2; exit 3"});
    EXPECT_EQ(result.status, 3);
    EXPECT_EQ(result.output, "value\nerror\n");
    EXPECT_EQ(result_of({"sh", "-c", "kill -KILL $$"}).status, 137);
}

TEST(Helper, AMissingProgramIsNamed) {
    const auto result = result_of({"no-such-program"});
    EXPECT_EQ(result.status, 127);
    EXPECT_NE(result.output.find("no-such-program"), std::string::npos) << result.output;
}

TEST(Helper, AProgramThatHangsIsKilled) {
    const auto result = result_of({"sleep", "1000"}, 1s);
    EXPECT_EQ(result.status, 124);
    EXPECT_EQ(result.output, "it has not ended in time");
}

}  // namespace
}  // namespace dlaunch::agent
