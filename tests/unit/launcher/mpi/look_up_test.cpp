#include "launcher/mpi/look_up.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/launcher/mpi/elf_image.hpp"

namespace dlaunch::launcher {
namespace {

/// A program that needs libmpi.so.40.
class LookUpTest : public testing::Test {
protected:
    void SetUp() override {
        std::ofstream(program_) << elf_image({{"libmpi.so.40"}});
        std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
    }
    void TearDown() override { std::filesystem::remove(program_); }

    std::filesystem::path program_ =
        std::filesystem::temp_directory_path() / ("dlaunch-look-up-" + std::to_string(getpid()));
    const Linked linked_{agent::MpiFamily::pmix, "libmpi.so.40"};
};

TEST_F(LookUpTest, FindsTheLibrary) { EXPECT_EQ(look_up({{program_}, ""}), linked_); }

TEST_F(LookUpTest, AForeignFolderComesFirst) {
    EXPECT_EQ(look_up({{"/proc/self/absent", program_}, ""}), linked_);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    EXPECT_EQ(errno, ECHILD);
}

TEST_F(LookUpTest, ALateAnswerIsNone) {
    std::vector<std::string> candidates(300'000, "/proc/self/absent");  // which take a while
    candidates.push_back(program_);
    EXPECT_EQ(look_up({std::move(candidates), ""}, std::chrono::milliseconds(0)).library, "");
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace dlaunch::launcher
