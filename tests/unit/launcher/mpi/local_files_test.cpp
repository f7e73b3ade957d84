#include "launcher/mpi/local_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dlaunch::launcher {
namespace {

/// A folder with a file; skips the test where it is on no local disk.
class LocalFilesTest : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "file") << "text";
        LocalFiles probe;
        if (!probe.open(folder_ / "file")) GTEST_SKIP() << folder_ << " is on no local disk";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("dlaunch-local-files-" + std::to_string(getpid()));
};

TEST_F(LocalFilesTest, AMissingFileIsNotForeign) {
    LocalFiles files;
    EXPECT_FALSE(files.open(folder_ / "absent"));
    EXPECT_FALSE(files.open(folder_ / "file" / "below"));
    EXPECT_TRUE(files.open(folder_ / "file"));
    EXPECT_FALSE(files.met_foreign());
}

TEST_F(LocalFilesTest, AfterAForeignFileNothingIsOpened) {
    LocalFiles files;
    EXPECT_FALSE(files.open("/proc/self/status"));
    EXPECT_TRUE(files.met_foreign());
    EXPECT_FALSE(files.open(folder_ / "file"));
}

TEST_F(LocalFilesTest, LinksToForeignFilesAreNotFollowed) {
    std::filesystem::create_symlink("/proc/self/status", folder_ / "link");
    std::filesystem::create_symlink("/proc/self", folder_ / "folder");
    for (const char* name : {"link", "folder/status"}) {
        LocalFiles files;
        EXPECT_FALSE(files.open(folder_ / name)) << name;
        EXPECT_TRUE(files.met_foreign()) << name;
    }
}

}  // namespace
}  // namespace dlaunch::launcher
