#include "agent/services/socket_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

class SocketFileTest : public testing::Test {
protected:
    const TemporaryFolder temporary_;
    const std::string folder_ = temporary_.path();
    SocketFile file_;
};

TEST_F(SocketFileTest, uses_the_folder_of_the_run_and_leaves_it) {
    file_.make(folder_, "/nowhere");
    EXPECT_EQ(file_.path(), folder_ + "/socket");
    EXPECT_EQ(file_.folder(), "");
    EXPECT_TRUE(fs::is_socket(file_.path()));
    file_.remove();
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SocketFileTest, makes_and_removes_a_folder_of_its_own) {
    file_.make("", folder_);
    EXPECT_TRUE(file_.folder().starts_with(folder_ + "/dlaunch-agent-"));
    EXPECT_EQ(file_.path(), file_.folder() + "/socket");
    file_.remove();
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SocketFileTest, is_in_tmp_where_other_paths_are_too_long_for_a_socket) {
    const std::string deep = folder_ + "/" + std::string(100, 'x');
    file_.make(deep, deep);
    EXPECT_TRUE(file_.path().starts_with("/tmp/dlaunch-agent-"));
}

TEST_F(SocketFileTest, has_no_path_where_no_folder_can_be_made) {
    file_.make("", folder_ + "/none");
    EXPECT_EQ(file_.path(), "");
}

}  // namespace
}  // namespace dlaunch::agent
