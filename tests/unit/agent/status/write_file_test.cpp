#include "agent/status/write_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
protected:
    void SetUp() override {
        std::string made = fs::temp_directory_path() / "write_file_XXXXXX";
        folder = mkdtemp(made.data());
    }
    void TearDown() override { fs::remove_all(folder); }

    [[nodiscard]] std::string path() const { return folder / "report"; }
    [[nodiscard]] static std::string text_of(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }

    fs::path folder;
};

TEST_F(WriteFile, makes_one_file_and_leaves_no_other) {
    EXPECT_EQ(write_file(path(), "new"), "");
    EXPECT_EQ(text_of(path()), "new");
    EXPECT_EQ(files(), 1u);
}

TEST_F(WriteFile, keeps_the_mode_of_the_file_that_it_replaces) {
    std::ofstream(path()) << "old";
    ASSERT_EQ(chmod(path().c_str(), 0600), 0);
    EXPECT_EQ(write_file(path(), "new"), "");
    struct stat about {};
    ASSERT_EQ(stat(path().c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    EXPECT_EQ(text_of(path()), "new");
    EXPECT_EQ(files(), 1u);
}

TEST_F(WriteFile, writes_through_a_link_that_is_the_path_itself) {
    std::ofstream(folder / "target") << "old";
    fs::create_symlink("target", path());
    EXPECT_EQ(write_file(path(), "new"), "");
    EXPECT_TRUE(fs::is_symlink(path()));
    EXPECT_EQ(text_of(folder / "target"), "new");
}

TEST_F(WriteFile, names_the_path_that_cannot_be_written) {
    EXPECT_EQ(write_file(folder / "missing" / "report", "new"),
              (folder / "missing" / "report").string() + ": No such file or directory");
}

}  // namespace
}  // namespace dlaunch::agent
