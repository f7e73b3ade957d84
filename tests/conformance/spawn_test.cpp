/// spawn(): start, exit, errors, cleanup.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

void sleep_for_a_minute() { std::this_thread::sleep_for(std::chrono::minutes(1)); }

TEST(SpawnTest, all_processes_exit_with_0) {
    spawn([](int) {}, 4);
}

TEST(SpawnTest, the_first_error_ends_the_siblings_and_is_reported) {
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

TEST(SpawnTest, a_process_that_ignores_sigterm_is_killed_after_the_grace) {
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

TEST(SpawnTest, daemons_are_killed_with_their_handle) {
    int pid = 0;
    {
        Process process(sleep_for_a_minute, 0, {.daemon = true});
        pid = process.pid();
    }
    EXPECT_EQ(kill(pid, 0), -1);
}

TEST(SpawnTest, the_first_failure_is_reported_although_siblings_fail_too) {
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
    close(ends[1]);  // lets the other process fail
    ASSERT_TRUE(context.processes()[0].join());
    try {
        context.join();
        ADD_FAILURE() << "no error";
    } catch (const ProcessError& error) {
        EXPECT_EQ(error.index(), 1) << error.what();
    }
}

TEST(SpawnTest, infinite_time_outs) {
    Process process([] {}, 0);
    EXPECT_TRUE(process.join(std::chrono::milliseconds::max()));
    EXPECT_TRUE(start_processes([](int) {}, 2, {.grace = std::chrono::milliseconds::max()})
                    .join(std::chrono::milliseconds::max()));
}

TEST(SpawnTest, zero_and_negative_numbers_of_processes) {
    EXPECT_TRUE(start_processes([](int) {}, 0).join());
    expect_error(ErrorCode::invalid_argument, [] { spawn([](int) {}, -1); });
}

/// A later child cannot be started for lack of descriptors, before or after the fork; its siblings would wait forever.
TEST(SpawnTest, a_failed_start_kills_the_processes_started_before) {
    for (const rlim_t room : {4, 5, 6, 7}) {
        Process process(
            [room] {
                // Sets the limit so that no descriptor is free, however many this process inherited.
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

TEST(SpawnTest, an_ignored_sigchld_is_refused) {
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

// --- programs that interfere with their children ---------------------------------------------------------------------

void nothing(int, const std::vector<std::string>&) {}
const Spawnable kNothing("nothing", nothing);

/// Without run_if_spawned() each process would start the next one.
TEST(SpawnTest, a_spawned_process_without_run_if_spawned_starts_no_others) {
    spawn(
        [](int) {
            setenv("DLAUNCH_SPAWN", "0 9 nothing", 1);
            expect_error(ErrorCode::invalid_argument, [] { spawn(kNothing, 1); });
            check(waitpid(-1, nullptr, WNOHANG) == -1, "one was made");
        },
        1);
}

TEST(SpawnTest, a_failed_exec_is_reported_with_its_reason) {
    try {
        spawn(kNothing, 1, {.args = {std::string(1 << 20, 'x')}});
        ADD_FAILURE() << "no error";
    } catch (const ProcessError& error) {
        EXPECT_EQ(error.message(), "the program cannot be started again: Argument list too long");
    }
}

TEST(SpawnTest, an_exit_status_consumed_by_another_wait_is_a_failure) {
    ProcessContext context = start_processes([](int) {}, 1);
    waitpid(context.processes()[0].pid(), nullptr, 0);
    EXPECT_FALSE(context.processes()[0].is_alive());
    try {
        context.join();
        ADD_FAILURE() << "no error";
    } catch (const ProcessError& error) {
        EXPECT_EQ(error.exit_code(), 255);
        EXPECT_NE(error.message().find("its exit status was taken"), std::string::npos) << error.message();
    }
}

/// The error descriptor's number may have been reused for another file, which must not be written.
TEST(SpawnTest, an_error_is_reported_although_all_descriptors_were_closed) {
    const ProcessError error = expect_failure(
        [](int) {
            for (int file = 3; file < 256; ++file) close(file);
            FILE* other = std::tmpfile();
            while (dup(fileno(other)) < 64) {}
            throw std::runtime_error("no data");
        },
        1);
    EXPECT_EQ(error.message(), "no data");
}

TEST(SpawnTest, output_to_closed_streams_is_not_taken_for_the_error) {
    spawn(
        [](int) {
            close(STDERR_FILENO);
            const ProcessError error = expect_failure(
                [](int) {
                    std::fputs("on the way\n", stderr);
                    throw std::runtime_error("no data");
                },
                1);
            check(error.message() == "no data", error.message().c_str());
        },
        1);
}

TEST(SpawnTest, a_parent_that_closes_all_descriptors_gets_an_error) {
    Process process(
        [] {
            ProcessContext context = start_processes([](int) {}, 2);
            for (int file = 3; file < 256; ++file) close(file);
            expect_error(ErrorCode::backend, [&] { context.join(); });
        },
        0, {.daemon = true});
    ASSERT_TRUE(process.join(std::chrono::seconds(20))) << "it waits for ever";
    EXPECT_EQ(process.exit_code(), 0) << process.error();
}

TEST(SpawnTest, a_fork_of_the_parent_does_not_kill_its_daemons) {
    auto daemon = std::make_unique<Process>(sleep_for_a_minute, 0, SpawnOptions{.daemon = true});
    spawn([&](int) { daemon.reset(); }, 1);
    EXPECT_TRUE(daemon->is_alive());
}

}  // namespace
}  // namespace dlaunch::conformance
