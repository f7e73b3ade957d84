#include "agent/services/job_link.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

class JobLinkTest : public testing::Test {
protected:
    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
    JobLink link_;
};

TEST_F(JobLinkTest, leads_to_the_socket_and_has_the_name_of_its_folder) {
    link_.make(folder_, "/tmp/dlaunch_abcdef/socket");
    EXPECT_EQ(link_.path(), (folder_ / "dlaunch/dlaunch_abcdef").string());
    EXPECT_EQ(fs::read_symlink(link_.path()), "/tmp/dlaunch_abcdef/socket");
    EXPECT_EQ(fs::status(folder_ / "dlaunch").permissions(), fs::perms::owner_all);
    link_.remove();
    EXPECT_TRUE(fs::is_empty(folder_ / "dlaunch"));
}

TEST_F(JobLinkTest, shares_the_folder) {
    JobLink second;
    link_.make(folder_, "/tmp/dlaunch_abcdef/socket");
    second.make(folder_, "/tmp/dlaunch-agent-ghijkl/socket");
    EXPECT_EQ(second.path(), (folder_ / "dlaunch/dlaunch-agent-ghijkl").string());
}

TEST_F(JobLinkTest, is_not_made_without_a_folder_of_this_user) {
    fs::create_directory_symlink(folder_, folder_ / "link");
    for (const std::string& runtime : {std::string(), (folder_ / "none").string(), (folder_ / "link").string()}) {
        link_.make(runtime, "/tmp/dlaunch_abcdef/socket");
        EXPECT_EQ(link_.path(), "") << runtime;
    }
    link_.make(folder_, "");
    EXPECT_EQ(link_.path(), "") << "a job without a socket";
}

}  // namespace
}  // namespace dlaunch::agent
