#include "agent/logs/complaints.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace dlaunch::agent {
namespace {

TEST(Complaints, each_kind_is_told_once_for_ever) {
    Complaints complaints;
    int calls = 0;
    complaints.on_new([&] { ++calls; });
    complaints.about_files(ENOSPC, "/a");
    complaints.about_files(ENOSPC, "/b");
    complaints.about_files(EIO, "/b");
    complaints.add("standard output", ENOSPC, "", "some output is lost");
    EXPECT_EQ(complaints.take(),
              (std::vector<std::string>{"log files: No space left on device (/a); going on without them",
                                        "log files: Input/output error (/b); going on without them",
                                        "standard output: No space left on device; some output is lost"}));
    complaints.about_files(ENOSPC, "/c");
    EXPECT_TRUE(complaints.take().empty());
    EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace dlaunch::agent
