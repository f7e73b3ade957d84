#include "rendezvous/base/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "rendezvous/base/fd.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::base {
namespace {

class Files : public testing::Test {
protected:
    const TemporaryFolder temporary_;
    const std::string folder_ = temporary_.path();
};

TEST_F(Files, are_read_up_to_the_limit) {
    const std::string path = folder_ + "/file";
    std::ofstream(path) << std::string(100'000, 'x');
    EXPECT_EQ(text_of(path), std::string(100'000, 'x'));
    EXPECT_EQ(text_of(path, 100'000), std::string(100'000, 'x'));
    EXPECT_EQ(text_of(path, 99'999), "");
}

TEST_F(Files, are_empty_where_there_is_nothing_to_read) {
    const std::string empty = folder_ + "/empty", fifo = folder_ + "/fifo";
    std::ofstream(empty).flush();
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    for (const std::string& path : {empty, fifo, folder_, folder_ + "/missing", std::string()})
        EXPECT_EQ(text_of(path), "");
}

TEST_F(Files, an_error_names_the_reason) {
    const UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_CLOEXEC)),
        zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(read_all(folder.get()).error().text, "Is a directory");
    EXPECT_EQ(read_all(zeros.get(), 1000).error().text, "larger than 1000 bytes");
}

}  // namespace
}  // namespace dlaunch::base
