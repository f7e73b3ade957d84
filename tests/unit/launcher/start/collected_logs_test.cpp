#include "launcher/start/collected_logs.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

TEST(CollectedLogs, paths_of_nodes_stay_below_the_folder) {
    EXPECT_TRUE(is_safe_below("attempt_0/0/stdout.log"));
    for (const char* path : {"", "/etc/passwd", "..", "a/../../b", "a/./b", "a//../b", "a/"})
        EXPECT_FALSE(is_safe_below(path)) << path;
    EXPECT_FALSE(is_safe_below(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace dlaunch::launcher
