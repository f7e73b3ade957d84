#include "agent/status/event_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

class EventFileTest : public testing::Test {
protected:
    [[nodiscard]] std::string text() const {
        std::ostringstream all;
        all << std::ifstream(path()).rdbuf();
        return all.str();
    }
    [[nodiscard]] std::string path() const { return folder_ + "/events"; }
    const TemporaryFolder temporary_;
    const std::string folder_ = temporary_.path();
};

TEST_F(EventFileTest, appends_to_an_existing_file) {
    std::ofstream(path()) << "{}\n";
    for (int i = 0; i < 2; ++i) EventFile::open(path())->write("line\n");
    EXPECT_EQ(text(), "{}\nline\nline\n");
}

TEST_F(EventFileTest, an_error_names_the_path_and_the_reason) {
    const auto missing = EventFile::open(folder_ + "/no/such");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().text, "event log " + folder_ + "/no/such: No such file or directory");
    EXPECT_FALSE(EventFile::open(folder_));
}

TEST_F(EventFileTest, a_fifo_blocks_neither_open_nor_write) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    EXPECT_FALSE(EventFile::open(path())) << "without a reader";
    const base::UniqueFd reader(::open(path().c_str(), O_RDONLY | O_NONBLOCK));
    auto log = EventFile::open(path());
    ASSERT_TRUE(log);
    const std::string large(3000, 'x');
    for (int i = 0; i < 100; ++i) log->write(large);
    EXPECT_NE(log->take_warning(), "");
}

TEST_F(EventFileTest, a_full_disk_causes_one_warning) {
    auto log = EventFile::open("/dev/full");
    ASSERT_TRUE(log);
    log->write("e\n");
    EXPECT_EQ(log->take_warning(), "event log: No space left on device; some events are lost");
    log->write("e\n");
    EXPECT_EQ(log->take_warning(), "");
}

TEST_F(EventFileTest, events_lost_before_the_file_share_that_warning) {
    EventFile log;
    log.add_lost(3);
    EXPECT_EQ(log.take_warning(), "event log: 3 lines were too many to keep in memory; some events are lost");
    log.add_lost(4);
    EXPECT_EQ(log.take_warning(), "");
}

TEST_F(EventFileTest, a_line_after_a_torn_line_starts_on_a_new_line) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
    const base::UniqueFd reader(::open(path().c_str(), O_RDONLY | O_NONBLOCK));
    auto log = EventFile::open(path());
    ASSERT_TRUE(log);
    log->write(std::string(200'000, 'x') + "\n");  // more than the pipe holds: the kernel takes a part of it
    EXPECT_EQ(log->take_warning(), "event log: a line was cut short; some events are lost");
    std::string all(200'000, ' ');
    const ssize_t got = ::read(reader.get(), all.data(), all.size());
    ASSERT_GT(got, 0);
    ASSERT_NE(all[static_cast<std::size_t>(got) - 1], '\n');
    log->write("next\n");
    ASSERT_EQ(::read(reader.get(), all.data(), all.size()), 6);
    EXPECT_TRUE(all.starts_with("\nnext\n")) << all.substr(0, 40);
}

}  // namespace
}  // namespace dlaunch::agent
