#include "agent/logs/log_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

/// The contents of the rotated files and the file, for the given limit; oldest first, separated by '|'.
std::string pieces(std::initializer_list<std::string_view> writes, std::uint64_t limit) {
    std::string text;
    std::uint64_t size = 0;
    bool at_line_start = true;
    for (std::string_view data : writes) {
        while (!data.empty()) {
            const Cut cut = next_cut(size, at_line_start, data, limit);
            text += data.substr(0, cut.bytes);
            size += cut.bytes;
            if (cut.bytes > 0) at_line_start = data[cut.bytes - 1] == '\n';
            data.remove_prefix(cut.bytes);
            if (!cut.then_rotate) continue;
            text += '|';
            size = 0;
            at_line_start = true;
        }
    }
    return text;
}

TEST(NextCut, keeps_files_within_the_limit_and_lines_whole) {
    EXPECT_EQ(pieces({"aaa\nbbb\nccc\n"}, 8), "aaa\nbbb\n|ccc\n");
    EXPECT_EQ(pieces({"aaa\n", "bbb\n", "ccc\n"}, 8), "aaa\nbbb\n|ccc\n");
    EXPECT_EQ(pieces({"aaa\nbb", "b\nccc\n"}, 8), "aaa\nbbb\n|ccc\n");
    EXPECT_EQ(pieces({"aaa\n", "bbbbb\n"}, 8), "aaa\n|bbbbb\n");
}

TEST(NextCut, stretches_a_file_for_the_line_it_is_in) {
    EXPECT_EQ(pieces({"aaa\nbbbb", "bbb\nccc\n"}, 8), "aaa\nbbbbbbb\n|ccc\n");
    EXPECT_EQ(pieces({"aaaaaaaaaa\nb\n"}, 8), "aaaaaaaaaa\n|b\n");
}

TEST(NextCut, cuts_a_line_that_is_longer_than_two_files) {
    EXPECT_EQ(pieces({"aaaaaaaaaa"}, 4), "aaaaaaaa|aa");
    EXPECT_EQ(pieces({"aaaaaa", "aaaaaa\n"}, 4), "aaaaaaaa|aaaa\n");
}

TEST(NextCut, no_limit_means_no_cut) {
    const Cut cut = next_cut(1ull << 60, false, "x\ny", 0);
    EXPECT_EQ(cut.bytes, 3u);
    EXPECT_FALSE(cut.then_rotate);
}

class LogFileTest : public testing::Test {
protected:
    static std::string text(const fs::path& path) {
        std::ostringstream out;
        out << std::ifstream(path).rdbuf();
        return out.str();
    }

    Warnings warnings_;
    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path(), path_ = folder_ / "out.log";
    LogFile file_;
};

TEST_F(LogFileTest, exists_from_the_start_and_holds_the_same_bytes) {
    file_.open(path_, {}, warnings_);
    EXPECT_TRUE(fs::exists(path_));
    file_.write("a\r\n");
    file_.write(std::string_view("\0x", 2));
    EXPECT_EQ(text(path_), std::string("a\r\n\0x", 5));
}

TEST_F(LogFileTest, rotation_keeps_the_given_number_of_files) {
    file_.open(path_, {4, 2}, warnings_);
    for (const char* line : {"111\n", "222\n", "333\n", "444\n"}) file_.write(line);
    EXPECT_EQ(text(path_), "444\n");
    EXPECT_EQ(text(folder_ / "out.log.1"), "333\n");
    EXPECT_EQ(text(folder_ / "out.log.2"), "222\n");
    EXPECT_FALSE(fs::exists(folder_ / "out.log.3"));
    EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(LogFileTest, rotation_that_keeps_none_starts_over) {
    file_.open(path_, {4, 0}, warnings_);
    file_.write("111\n222\n333\n");
    EXPECT_EQ(text(path_), "333\n");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(LogFileTest, a_file_that_cannot_be_rotated_goes_on) {
    file_.open(path_, {4, 2}, warnings_);
    fs::create_directories(folder_ / "out.log.1" / "in the way");
    fs::create_directories(folder_ / "out.log.2" / "in the way");
    for (const char* line : {"111\n", "222\n", "333\n"}) file_.write(line);
    EXPECT_EQ(text(path_), "111\n222\n333\n");
    EXPECT_EQ(warnings_.take().size(), 1u);
}

TEST_F(LogFileTest, a_full_disk_causes_one_warning) {
    file_.open("/dev/full", {}, warnings_);
    LogFile other;
    other.open("/dev/full", {}, warnings_);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(file_.write("lost\n"), "lost\n");
        EXPECT_EQ(other.write("lost\n"), "lost\n");
    }
    EXPECT_EQ(warnings_.take(),
              std::vector<std::string>{
                  "log files: No space left on device (/dev/full); what they cannot take goes to the console"});
}

TEST_F(LogFileTest, writing_goes_on_when_there_is_space_again) {
    signal(SIGXFSZ, SIG_IGN);
    file_.open(path_, {}, warnings_);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{6, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    file_.write("12345678\n");
    file_.write("lost\n");
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    file_.write("again\n");
    EXPECT_EQ(text(path_), "123456again\n");
    EXPECT_EQ(warnings_.take().size(), 1u);
}

TEST_F(LogFileTest, a_failed_creation_is_tried_again_at_the_next_write) {
    file_.open(folder_ / "later" / "out.log", {}, warnings_);
    file_.write("lost\n");
    fs::create_directory(folder_ / "later");
    file_.write("kept\n");
    EXPECT_EQ(text(folder_ / "later" / "out.log"), "kept\n");
    EXPECT_EQ(warnings_.take().size(), 1u);
}

TEST_F(LogFileTest, too_many_open_files_cause_a_warning_at_the_first_write) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    file_.open(path_, {}, warnings_);
    EXPECT_TRUE(warnings_.take().empty());
    file_.write("lost\n");
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(warnings_.take(), std::vector<std::string>{"log files: Too many open files (" + path_.string() +
                                                         "); what they cannot take goes to the console"});
}

TEST(LogFileDefault, writes_nothing) {
    LogFile none;
    EXPECT_FALSE(none);
    none.write("x");
}

}  // namespace
}  // namespace dlaunch::agent
