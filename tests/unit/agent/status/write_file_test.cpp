#include "agent/status/write_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "rendezvous/base/fd.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
protected:
    [[nodiscard]] std::string path() const { return folder / "report"; }
    [[nodiscard]] static std::string text_of(const fs::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }

    const TemporaryFolder temporary;
    const fs::path folder = temporary.path();
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

TEST_F(WriteFile, names_a_fifo_without_a_reader_and_no_other_file_that_cannot_be_opened) {
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    EXPECT_EQ(write_file(path(), "new"), path() + ": a FIFO without a reader");
    fs::remove(path());
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    const base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(write_file(path(), "new"), path() + ": No such device or address");  // ENXIO, as of /dev/tty
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
