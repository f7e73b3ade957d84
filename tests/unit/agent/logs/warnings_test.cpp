#include "agent/logs/warnings.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace dlaunch::agent {
namespace {

TEST(Warnings, each_kind_is_reported_once) {
    Warnings warnings;
    int calls = 0;
    warnings.on_new([&] { ++calls; });
    warnings.about_files(ENOSPC, "/a");
    warnings.about_files(ENOSPC, "/b");
    warnings.about_files(EIO, "/b");
    warnings.add("standard output", ENOSPC, "", "some output is lost");
    EXPECT_EQ(warnings.take(), (std::vector<std::string>{
                                   "log files: No space left on device (/a); what they cannot take goes to the console",
                                   "log files: Input/output error (/b); what they cannot take goes to the console",
                                   "standard output: No space left on device; some output is lost"}));
    warnings.about_files(ENOSPC, "/c");
    EXPECT_TRUE(warnings.take().empty());
    EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace dlaunch::agent
