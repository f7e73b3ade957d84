/// Error records, on_stop() and sections.

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

TEST(RecordTest, an_exception_of_main_is_recorded_in_torchs_format) {
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    spawn(
        [&](int) {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            check(std::freopen("/dev/null", "w", stderr) != nullptr, "stderr");
            const int status = record([]() -> int { throw std::runtime_error("a \"quoted\"\nline"); });
            check(status == 1, "the status");
        },
        1);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    EXPECT_NE(text.str().find(R"("message": "std::runtime_error: a \"quoted\"\u000aline")"), std::string::npos)
        << text.str();
    EXPECT_NE(text.str().find(R"("extraInfo": {"py_callstack": )"), std::string::npos) << text.str();
}

TEST(RecordTest, a_fatal_signal_is_recorded_with_a_backtrace) {
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    const ProcessError error = expect_failure(
        [&](int) {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            (void)record([]() -> int { std::abort(); });
        },
        1);
    EXPECT_EQ(error.exit_code(), -SIGABRT);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    EXPECT_NE(text.str().find("SIGABRT"), std::string::npos) << text.str();
}

TEST(RecordTest, an_uncaught_exception_of_a_thread_is_recorded) {
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    const ProcessError error = expect_failure(
        [&](int) {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            check(std::freopen("/dev/null", "w", stderr) != nullptr, "stderr");
            (void)record([]() -> int {
                std::thread([] { throw std::runtime_error("the disk is full"); }).join();
                return 0;
            });
        },
        1);
    EXPECT_EQ(error.exit_code(), -SIGABRT);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    EXPECT_NE(text.str().find("std::runtime_error: the disk is full"), std::string::npos) << text.str();
}

TEST(RecordTest, threads_that_crash_together_write_one_whole_record) {
    if (std::getenv("DLAUNCH_SANITIZE")) GTEST_SKIP() << "sanitizers handle fatal signals themselves";
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    for (int attempt = 0; attempt < 20; ++attempt) {
        const ProcessError error = expect_failure(
            [&](int) {
                setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
                (void)record([&]() -> int {
                    std::atomic<int> waiting{16};
                    const auto fall = [&] {
                        for (--waiting; waiting > 0;) {}
                        raise(SIGSEGV);
                    };
                    std::vector<std::thread> threads;
                    for (int i = 0; i < 16; ++i) threads.emplace_back(fall);
                    for (std::thread& thread : threads) thread.join();
                    return 0;
                });
            },
            1);
        EXPECT_EQ(error.exit_code(), -SIGSEGV);
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        unlink(path.c_str());
        ASSERT_TRUE(text.str().ends_with("}}}\n")) << text.str();
    }
}

/// Starts this program again under a long name.
TEST(RecordTest, a_record_is_complete_with_long_symbol_names) {
    constexpr const char* kCrashes = "DLAUNCH_TEST_CRASHES";
    if (std::getenv(kCrashes)) (void)record([]() -> int { std::abort(); });
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    Process process(
        [&] {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            setenv(kCrashes, "yes", 1);
            for (const char* of_shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(of_shard);
            const std::string name(4000, 'n');  // the file name in the program's frames
            execl("/proc/self/exe", name.c_str(), "--gtest_brief=1", "--gtest_filter=RecordTest.a_record_is_complete_*",
                  nullptr);
        },
        0, {.daemon = true});
    ASSERT_TRUE(process.join(std::chrono::seconds(20)));
    EXPECT_EQ(process.exit_code(), -SIGABRT);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    EXPECT_NE(text.str().find("nnnn"), std::string::npos) << "the names are not long";
    EXPECT_TRUE(text.str().ends_with("\"}}}\n")) << text.str().size() << " bytes";
}

TEST(StopTest, the_callback_runs_once_for_either_signal) {
    spawn(
        [](int rank) {
            setenv("DLAUNCH_WORKER_STOP_SIGNAL", "SIGUSR1", 1);
            std::atomic<int> calls{0};
            on_stop([&] { ++calls; });
            raise(rank == 0 ? SIGTERM : SIGUSR1);
            raise(SIGTERM);
            while (calls == 0) std::this_thread::yield();
            check(is_stopping() && calls == 1, "how often it was called");
        },
        2);
}

TEST(StopTest, a_callback_may_throw) {
    spawn(
        [](int) {
            std::atomic<bool> called{false};
            check(std::freopen("/dev/null", "w", stderr) != nullptr, "stderr");
            on_stop([&] {
                called = true;
                throw std::runtime_error("the disk is full");
            });
            raise(SIGTERM);
            while (!called) std::this_thread::yield();
            on_stop(nullptr);
            check(is_stopping(), "a stop was requested");
        },
        1);
}

/// A forked child has no thread to run the callback.
TEST(StopTest, a_fork_has_no_callback) {
    if (std::getenv("DLAUNCH_SANITIZE"))
        GTEST_SKIP()
            << "sanitizers refuse new threads in a fork of a process with threads, or leave their memory locked";
    spawn(
        [](int) {
            on_stop([] {});
            const ProcessError error = expect_failure([](int) { raise(SIGTERM); }, 1);
            check(error.message() == "SIGTERM", "the child's end");
            spawn(
                [](int) {
                    std::atomic<bool> called{false};
                    on_stop([&] { called = true; });
                    raise(SIGTERM);
                    while (!called) std::this_thread::yield();
                },
                1);
            check(!is_stopping(), "the parent got no signal");
        },
        1);
}

/// A lost end would make the launcher kill a worker that has left its section.
TEST(SectionTest, the_end_of_a_section_waits_for_a_full_pipe) {
    const std::string path = testing::TempDir() + "dlaunch-timers-" + std::to_string(getpid());
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int pipe = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    std::string page(PIPE_BUF, '.');
    while (write(pipe, page.data(), page.size()) > 0) {}
    ProcessContext context = start_processes(
        [&](int) {
            setenv("TORCHELASTIC_TIMER_FILE", path.c_str(), 1);
            const Section one("step", std::chrono::minutes(1));
        },
        1);
    EXPECT_FALSE(context.join(std::chrono::milliseconds(100))) << "it did not wait for room";
    int lines = 0;
    for (pollfd more{pipe, POLLIN, 0}; lines < 2;) {
        ASSERT_EQ(poll(&more, 1, 10'000), 1) << "only " << lines;
        const ssize_t got = read(pipe, page.data(), page.size());
        lines += static_cast<int>(std::count(page.begin(), page.begin() + got, '\n'));
    }
    EXPECT_TRUE(context.join());
    close(pipe);
    unlink(path.c_str());
}

/// Without torch's FIFO, as in most jobs. A fork has a connection of its own.
TEST(SectionTest, deadlines_reach_the_agents_socket_in_order) {
    const std::string path = testing::TempDir() + "dlaunch-agent-" + std::to_string(getpid());
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    ASSERT_LT(path.copy(address.sun_path, sizeof address.sun_path - 1), sizeof address.sun_path - 1);
    const int agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(agent, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(agent, 8), 0);
    spawn(
        [&](int) {
            unsetenv("TORCHELASTIC_TIMER_FILE");
            setenv("DLAUNCH_AGENT_SOCKET", path.c_str(), 1);
            { const Section one("step", std::chrono::minutes(1)); }
            spawn([](int) { heartbeat(); }, 1);
            heartbeat();
        },
        1);
    const auto lines_of_next = [&] {
        const int client = accept4(agent, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        std::string text(4096, '\0');
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(client, text.data(), text.size()))));
        close(client);
        return text;
    };
    const std::string parent = lines_of_next(), child = lines_of_next();
    close(agent);
    unlink(path.c_str());
    EXPECT_TRUE(parent.starts_with("timers\n{"));
    EXPECT_EQ(std::count(parent.begin(), parent.end(), '\n'), 4);
    EXPECT_LT(parent.find("\"expiration_time\": 1"), parent.find("\"expiration_time\": -1"));
    EXPECT_LT(parent.find("\"expiration_time\": -1"), parent.find("heartbeat"));
    EXPECT_TRUE(child.starts_with("timers\n{"));
    EXPECT_EQ(std::count(child.begin(), child.end(), '\n'), 2);
}

TEST(SectionTest, any_duration_and_any_name_are_accepted) {
    const std::string path = testing::TempDir() + "dlaunch-timers-" + std::to_string(getpid());
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    spawn(
        [&](int) {
            setenv("TORCHELASTIC_TIMER_FILE", path.c_str(), 1);
            const Section whole(std::string(100'000, '"'), std::chrono::milliseconds::max());
            _exit(0);  // skips the destructor
        },
        1);
    std::string line(1 << 16, '\0');
    line.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(reader, line.data(), line.size()))));
    close(reader);
    unlink(path.c_str());
    EXPECT_LT(line.size(), PIPE_BUF) << "it may be mixed with others'";
    EXPECT_TRUE(line.ends_with("}\n"));
    EXPECT_NE(line.find("\"expiration_time\": 9"), std::string::npos) << line.substr(line.size() - 100);
}

}  // namespace
}  // namespace dlaunch::conformance
