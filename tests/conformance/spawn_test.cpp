/// Processes of a program's own: start, end, errors, and what is left of them.

#include <sys/resource.h>
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

TEST(SpawnTest, the_first_to_fail_is_blamed_though_its_siblings_fail_too) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ProcessContext context = start_processes(
        [&](int rank) {
            char byte = 0;
            close(ends[1]);
            if (rank == 0 && read(ends[0], &byte, 1) == 0) throw std::runtime_error("rank 1 is gone");
            _exit(7);
        },
        2);
    close(ends[0]);
    ASSERT_TRUE(context.processes()[1].join());
    close(ends[1]);  // only now may the other one fail
    ASSERT_TRUE(context.processes()[0].join());
    try {
        context.join();
        ADD_FAILURE() << "no error";
    } catch (const ProcessError& error) {
        EXPECT_EQ(error.index(), 1) << error.what();
    }
}

TEST(SpawnTest, time_outs_without_end) {
    Process process([] {}, 0);
    EXPECT_TRUE(process.join(std::chrono::milliseconds::max()));
    EXPECT_TRUE(start_processes([](int) {}, 2, {.grace = std::chrono::milliseconds::max()})
                    .join(std::chrono::milliseconds::max()));
}

TEST(SpawnTest, none_and_fewer) {
    EXPECT_TRUE(start_processes([](int) {}, 0).join());
    expect_error(ErrorCode::invalid_argument, [] { spawn([](int) {}, -1); });
}

/// A later child finds no descriptor left, for its error before the fork or for itself after it; the others would wait
/// for it.
TEST(SpawnTest, when_one_cannot_be_started_none_is_left) {
    for (const rlim_t room : {4, 5, 6, 7}) {
        Process process(
            [room] {
                // From here on no number is free, whatever this process was started with.
                const rlimit few{256, 256};
                check(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
                std::vector<int> taken;
                for (int file = dup(1); file >= 0; file = dup(1)) taken.push_back(file);
                for (rlim_t i = 0; i < room; ++i, taken.pop_back()) close(taken.back());
                expect_error(ErrorCode::backend, [] { (void)start_processes([](int) { sleep_for_a_minute(); }, 4); });
                check(waitpid(-1, nullptr, WNOHANG) == -1, "a child is left");
            },
            0, {.daemon = true});
        ASSERT_TRUE(process.join(std::chrono::seconds(20))) << "it waits for its children";
        EXPECT_EQ(process.exit_code(), 0) << process.error() << " with room for " << room << " descriptors";
    }
}

TEST(SpawnTest, where_ends_of_children_are_not_told_it_refuses) {
    Process process(
        [] {
            std::signal(SIGCHLD, SIG_IGN);
            const Error error =
                expect_error(ErrorCode::backend, [] { (void)start_processes([](int) { sleep_for_a_minute(); }, 1); });
            check(std::string(error.what()).find("SIGCHLD") != std::string::npos, error.what());
        },
        0, {.daemon = true});
    ASSERT_TRUE(process.join(std::chrono::seconds(20)));
    EXPECT_EQ(process.exit_code(), 0) << process.error();
}

TEST(SpawnTest, an_end_that_another_wait_has_taken_is_no_good_end) {
    ProcessContext context = start_processes([](int) {}, 1);
    ASSERT_EQ(waitpid(context.processes()[0].pid(), nullptr, 0), context.processes()[0].pid());
    try {
        context.join();
        ADD_FAILURE() << "no error";
    } catch (const ProcessError& error) {
        EXPECT_EQ(error.exit_code(), 255);
    }
}

const Spawnable kNothing("nothing", [](int, const std::vector<std::string>&) {});

TEST(SpawnTest, a_program_that_forgets_run_if_spawned_does_not_start_itself_for_ever) {
    Process process(
        [] {
            setenv("DLAUNCH_SPAWN", "0 3 nothing", 1);  // as a spawned process has it
            const Error error =
                expect_error(ErrorCode::invalid_argument, [] { (void)start_processes(kNothing, 1, {.daemon = true}); });
            check(std::string(error.what()).find("run_if_spawned()") != std::string::npos, error.what());
        },
        0, {.daemon = true});
    ASSERT_TRUE(process.join(std::chrono::seconds(20)));
    EXPECT_EQ(process.exit_code(), 0) << process.error();
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

/// Runs itself again, under a long name.
TEST(RecordTest, a_crash_is_written_to_its_end_however_long_names_are) {
    constexpr const char* kCrashes = "DLAUNCH_TEST_CRASHES";
    if (std::getenv(kCrashes)) record([]() -> int { std::abort(); });
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    Process process(
        [&] {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            setenv(kCrashes, "yes", 1);
            const std::string name(4000, 'n');  // so the program's frames are called
            execl("/proc/self/exe", name.c_str(), "--gtest_brief=1", "--gtest_filter=RecordTest.a_crash_*", nullptr);
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

TEST(RecordTest, what_another_thread_throws_is_written_though_it_ends_in_a_signal) {
    const std::string path = testing::TempDir() + "dlaunch-error-" + std::to_string(getpid());
    const ProcessError error = expect_failure(
        [&](int) {
            setenv("TORCHELASTIC_ERROR_FILE", path.c_str(), 1);
            std::freopen("/dev/null", "w", stderr);
            record([]() -> int {
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
            std::freopen("/dev/null", "w", stderr);
            on_stop([&] {
                called = true;
                throw std::runtime_error("the disk is full");
            });
            raise(SIGTERM);
            while (!called) std::this_thread::yield();
            on_stop(nullptr);
            check(is_stopping(), "it was told");
        },
        1);
}

}  // namespace
}  // namespace dlaunch::conformance
