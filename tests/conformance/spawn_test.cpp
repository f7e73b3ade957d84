/// Processes of a program's own: start, end, errors, and what is left of them.

#include <sys/wait.h>
#include <unistd.h>

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

ProcessError expect_failure(const std::function<void(int)>& work, int processes, const SpawnOptions& options = {}) {
    try {
        spawn(work, processes, options);
    } catch (const ProcessError& error) {
        return error;
    }
    ADD_FAILURE() << "no error";
    return {0, 0, 0, ""};
}

void sleep_for_a_minute() { std::this_thread::sleep_for(std::chrono::minutes(1)); }

TEST(SpawnTest, all_end_well) {
    spawn([](int) {}, 4);
}

TEST(SpawnTest, the_first_error_ends_the_others_and_keeps_its_words) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessError error = expect_failure(
        [](int rank) {
            if (rank == 2) throw std::runtime_error("no data for rank 2");
            sleep_for_a_minute();
        },
        4);
    EXPECT_EQ(error.index(), 2);
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_EQ(error.message(), "no data for rank 2");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(SpawnTest, signals_and_statuses_have_names) {
    EXPECT_EQ(expect_failure([](int) { raise(SIGKILL); }, 1).message(), "SIGKILL");
    EXPECT_EQ(expect_failure([](int) { _exit(3); }, 1).message(), "exit status 3");
}

TEST(SpawnTest, who_ignores_sigterm_is_killed_after_the_grace) {
    const ProcessError error = expect_failure(
        [](int rank) {
            if (rank == 0) {
                std::signal(SIGTERM, SIG_IGN);
                sleep_for_a_minute();
            }
            throw std::runtime_error("first");
        },
        2, {.grace = std::chrono::milliseconds(100)});
    EXPECT_EQ(error.index(), 1);
}

TEST(SpawnTest, a_process_can_be_watched_and_ended) {
    Process process(sleep_for_a_minute, 0, {.daemon = true});
    EXPECT_TRUE(process.is_alive());
    EXPECT_FALSE(process.exit_code());
    EXPECT_FALSE(process.join(std::chrono::milliseconds(10)));
    process.terminate();
    EXPECT_TRUE(process.join());
    EXPECT_EQ(process.exit_code(), -SIGTERM);
}

TEST(SpawnTest, daemons_go_with_their_handle) {
    int pid = 0;
    {
        Process process(sleep_for_a_minute, 0, {.daemon = true});
        pid = process.pid();
    }
    EXPECT_EQ(kill(pid, 0), -1);
}

TEST(RecordTest, what_main_throws_is_written_as_torch_writes_it) {
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    spawn(
        [&](int) {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            std::freopen("/dev/null", "w", stderr);
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

TEST(RecordTest, a_fatal_signal_leaves_its_name_and_a_stack) {
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    const ProcessError error = expect_failure(
        [&](int) {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            record([]() -> int { std::abort(); });
        },
        1);
    EXPECT_EQ(error.exit_code(), -SIGABRT);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    EXPECT_NE(text.str().find("SIGABRT"), std::string::npos) << text.str();
}

TEST(StopTest, the_callback_runs_once) {
    spawn(
        [](int) {
            std::atomic<int> calls{0};
            on_stop([&] { ++calls; });
            raise(SIGTERM);
            raise(SIGTERM);
            while (calls == 0) std::this_thread::yield();
            check(is_stopping() && calls == 1, "how often it was called");
        },
        1);
}

}  // namespace
}  // namespace dlaunch::conformance
