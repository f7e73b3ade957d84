#include "agent/logs/worker_pipes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

#include <string>

namespace dlaunch::agent {
namespace {

TEST(WorkerPipes, readers_do_not_block_and_writers_do) {
    const auto pipes = make_worker_pipes();
    ASSERT_TRUE(pipes);
    for (const base::UniqueFd* reader : {&pipes->readers.out, &pipes->readers.err})
        EXPECT_TRUE(fcntl(reader->get(), F_GETFL) & O_NONBLOCK);
    for (const base::UniqueFd* writer : {&pipes->writers.out, &pipes->writers.err}) {
        EXPECT_FALSE(fcntl(writer->get(), F_GETFL) & O_NONBLOCK);
        EXPECT_TRUE(fcntl(writer->get(), F_GETFD) & FD_CLOEXEC);
    }
}

TEST(WorkerPipes, too_many_open_files_is_an_error_that_names_the_limit) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{static_cast<rlim_t>(dup(0)), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto pipes = make_worker_pipes();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    close(static_cast<int>(few.rlim_cur));
    ASSERT_FALSE(pipes);
    EXPECT_EQ(pipes.error().text, "cannot make its pipes: Too many open files (the limit is " +
                                      std::to_string(few.rlim_cur) + "; raise it with ulimit -n)");
    EXPECT_EQ(pipes.error().status, 1);
}

TEST(WorkerTerminals, PassBytesUnchanged) {
    auto made = make_worker_terminals({.columns = 100, .rows = 30});
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_TRUE(made->readers.are_terminals);
    const int worker = made->writers.out.get();
    EXPECT_EQ(isatty(worker), 1);
    EXPECT_EQ(window_size(worker), (WindowSize{.columns = 100, .rows = 30}));
    const std::string text("a\tb\r\n\0\xFF\n", 8);
    ASSERT_EQ(write(worker, text.data(), text.size()), std::ssize(text));
    std::string got(100, ' ');
    const ssize_t count = read(made->readers.out.get(), got.data(), got.size());
    EXPECT_EQ(got.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0))), text);
    EXPECT_EQ(read(made->readers.out.get(), got.data(), got.size()), -1);
    EXPECT_EQ(errno, EAGAIN);
    made->writers.out.reset();
    EXPECT_EQ(read(made->readers.out.get(), got.data(), got.size()), -1);
    EXPECT_EQ(errno, EIO);
}

TEST(WorkerTerminals, TakeANewSize) {
    auto made = make_worker_terminals({});
    ASSERT_TRUE(made) << made.error().text;
    set_window_size(made->readers.err.get(), {.columns = 40, .rows = 10});
    EXPECT_EQ(window_size(made->writers.err.get()), (WindowSize{.columns = 40, .rows = 10}));
}

}  // namespace
}  // namespace dlaunch::agent
