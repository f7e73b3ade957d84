#include <gtest/gtest.h>
#include <signal.h>

#include <sstream>

#include "agent/errors/report.hpp"

namespace dlaunch::agent {
namespace {

Failure exited(int rank, int code) {
    Failure failure;
    failure.rank = failure.local_rank = rank;
    failure.host = "node2";
    failure.pid = 4700 + rank;
    failure.code = code;
    failure.after = std::chrono::duration<double>(12.3);
    failure.when = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    return failure;
}

JobResult ended(std::vector<Failure> failures) {
    JobResult end;
    end.exit_status = failures.empty() ? 0 : failures.front().exit_status();
    end.failures = std::move(failures);
    return end;
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) found.push_back(line);
    return found;
}

testing::AssertionResult has_line(const std::string& text, const std::string& line) {
    for (const std::string& found : lines(text))
        if (found == line) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no line '" << line << "' in\n" << text;
}

TEST(TextReport, IsEmptyWhenNothingFailed) {
    EXPECT_EQ(text_report({}), "");
    JobResult end;
    end.reason = "all workers ended well";
    EXPECT_EQ(text_report(end), "");
}

TEST(TextReport, OfAnEndWithoutAFailedWorkerIsItsReason) {
    JobResult end;
    end.exit_status = 143;
    end.reason = "SIGTERM received";
    EXPECT_EQ(text_report(end), "dlaunch: SIGTERM received\n");
    Failure collateral = exited(0, 1);
    collateral.collateral = true;
    end.failures = {collateral};
    EXPECT_EQ(text_report(end), "dlaunch: SIGTERM received\n");
}

TEST(TextReport, BeginsWithTheFirstCause) {
    Failure collateral = exited(0, 99);
    collateral.collateral = true;
    const auto found = lines(text_report(ended({collateral, exited(1, 37), exited(2, 38)})));
    EXPECT_EQ(found.front(), "dlaunch: rank 1 (node2, pid 4701) exited with 37 after 12.3 s");
}

TEST(TextReport, DoesNotRepeatTheLineJustPrinted) {
    const JobResult end = ended({exited(3, 7)});
    const std::string whole = text_report(end);
    EXPECT_EQ(text_report(end, "something else"), whole);
    EXPECT_EQ(text_report(end, summary(end.failures[0])), whole.substr(whole.find('\n') + 1));
}

TEST(TextReport, QuotesTheRecordLineByLine) {
    Failure failure = exited(1, 1);
    failure.record = ErrorRecord{"E: said \"no\" and \\ 100% of %s {rank} ${x}\nzu gro\xC3\x9F \x1b[2J",
                                 "Trace\n  in f\n\n\tin g\r\nE: x\n", ""};
    const std::string text = text_report(ended({failure}));
    EXPECT_NE(text.find("\n  E: said \"no\" and \\ 100% of %s {rank} ${x}\n  zu gro\xC3\x9F \\x1b[2J\n"
                        "  callstack:\n    Trace\n      in f\n\n    \tin g\n    E: x\n"),
              std::string::npos)
        << text;
}

TEST(TextReport, NeverCutsARecord) {
    Failure failure = exited(1, 1);
    const std::string lengthy = std::string(20'000, 'x') + " tail end";
    failure.record = ErrorRecord{lengthy, lengthy, ""};
    const std::string text = text_report(ended({failure}));
    EXPECT_TRUE(has_line(text, "  " + lengthy));
    EXPECT_TRUE(has_line(text, "    " + lengthy));
}

TEST(TextReport, QuotesTheStderrTailAsDisplayed) {
    Failure failure = exited(1, 1);
    failure.stderr_tail = {"\x1b[1;31mred\x1b[0m words\x1b[K", " 10%\r 20%\r", "bad \xFF byte", "", "the \x1b[2J last"};
    const std::string text = text_report(ended({failure}));
    EXPECT_NE(text.find("\n  last lines of rank 1 on stderr:\n    red words\n     20%\n    bad \\xff byte\n\n    the "
                        "\\x1b[2J last\n"),
              std::string::npos)
        << text;
}

TEST(TextReport, PrintsATracebackOnce) {
    Failure failure = exited(1, 1);
    failure.record = ErrorRecord{"E: x", "Trace\n  in f\nE: x", ""};
    failure.stderr_tail = {"Trace", "  in f", "E: x"};
    EXPECT_EQ(text_report(ended({failure})).find("stderr"), std::string::npos);
    failure.stderr_tail.emplace_back("and more");
    EXPECT_NE(text_report(ended({failure})).find("stderr"), std::string::npos);
}

TEST(TextReport, NamesTheFiles) {
    Failure failure = exited(1, 1);
    failure.stderr_file = "/logs/1/stderr.log";
    failure.stdout_file = "/logs/1/stdout.log";
    failure.error_file = "/logs/1/error.json";
    failure.record = ErrorRecord{"E", "", ""};
    JobResult end = ended({failure});
    EXPECT_EQ(text_report(end).find("error.json"), std::string::npos)
        << "is removed with the job when no logs are kept";
    end.log_directory = "/logs";
    const std::string text = text_report(end);
    EXPECT_TRUE(has_line(text, "  stderr:        /logs/1/stderr.log"));
    EXPECT_TRUE(has_line(text, "  stdout:        /logs/1/stdout.log"));
    EXPECT_TRUE(has_line(text, "  error file:    /logs/1/error.json"));
    EXPECT_TRUE(has_line(text, "  all logs:      /logs"));
}

TEST(TextReport, ListsOtherCausesAndCoalescesCollateralFailures) {
    Failure collateral = exited(0, 99);
    collateral.collateral = true;
    Failure other = exited(5, 2), same = exited(6, 1), first = exited(1, 1);
    first.record = same.record = ErrorRecord{"E: x", "", ""};
    other.record = ErrorRecord{"E: y\nsecond line", "", ""};
    JobResult end = ended({first, collateral, other, same});
    for (int rank = 0; rank < 9; ++rank) {
        WorkerResult worker;
        worker.rank = rank;
        worker.exit_status = rank == 8 ? 0 : 143;
        end.workers.push_back(worker);
    }
    const std::string text = text_report(end);
    EXPECT_NE(text.find("  also failed:   rank 5 exited with 2: E: y\n"
                        "                 rank 6 exited with 1: the same error\n"
                        "  stopped by us: ranks 0, 2-4, 7\n"
                        "  ended well:    rank 8\n"),
              std::string::npos)
        << text;
}

TEST(TextReport, ListsOnlySomeOfVeryMany) {
    std::vector<Failure> failures;
    failures.reserve(500);
    for (int rank = 0; rank < 500; ++rank) failures.push_back(exited(rank, 1 + rank % 250));
    const std::string text = text_report(ended(failures));
    EXPECT_TRUE(has_line(text, "                 ranks 5-250, 255-499 otherwise"));
    EXPECT_LT(lines(text).size(), 20U);
}

TEST(TextReport, NamesRanksWithTheSameErrorInOneLine) {
    std::vector<Failure> failures;
    for (int rank = 0; rank < 9; ++rank) {
        failures.push_back(exited(rank, 1));
        failures.back().message = rank == 0 ? "ValueError: loss is NaN" : "Connection reset by peer\nmore";
    }
    EXPECT_TRUE(
        has_line(text_report(ended(failures)), "  also failed:   ranks 1-8 exited with 1: Connection reset by peer"));
}

TEST(TextReport, PrintsTheResourcesOfTheFailedWorker) {
    JobResult end = ended({exited(1, 1)});
    end.failures[0].usage = {std::int64_t{900} * 1024, 61.5, 0.02};
    EXPECT_TRUE(
        has_line(text_report(end), "  used:          900 MiB of memory at most, CPU 61.5 s (user) + 20 ms (system)"));
}

TEST(TextReport, PrintsTimeAndRole) {
    EXPECT_TRUE(has_line(text_report(ended({exited(1, 1)})),
                         "  when:          2023-11-14T22:13:20.000Z, 12.3 s into round 0; local rank 1, role default"));
}

TEST(TextReport, NamesTheProgram) {
    JobResult end = ended({exited(1, 1)});
    end.program = "./train";
    EXPECT_TRUE(has_line(text_report(end), "  program:       ./train"));
}

TEST(TextReport, PrintsRestartsOnlyIfTheJobAllowsThem) {
    JobResult end = ended({exited(1, 1)});
    EXPECT_EQ(text_report(end).find("restarts"), std::string::npos);
    end.restarts = 2;
    end.max_restarts = 3;
    end.seconds = 29531;
    EXPECT_TRUE(has_line(text_report(end), "  restarts:      2 of 3 were used, the job ran 8 h 12 min"));
}

TEST(TextReport, ShowsWhereEachRankWasAtTheTimeLimit) {
    std::vector<Failure> failures;
    for (int rank = 0; rank < 4; ++rank) {
        failures.push_back(exited(rank, 0));
        failures.back().how = ExitKind::timed_out;
        failures.back().text = "30 s";
        if (rank == 3) continue;
        failures.back().last_line = rank == 0 ? "step 40" : "waiting for rank 0";
        failures.back().silent_for = std::chrono::duration<double>(rank == 0 ? 2.1 : 1.9);
    }
    const std::string text = text_report(ended(failures));
    EXPECT_TRUE(has_line(text, "    rank 0, 2.1 s ago: step 40"));
    EXPECT_TRUE(has_line(text, "    ranks 1-2, 1.9 s ago: waiting for rank 0"));
    EXPECT_TRUE(has_line(text, "    rank 3, no output"));
}

TEST(TextReport, OfAnExecErrorIsShort) {
    Failure failure = exited(0, 127);
    failure.how = ExitKind::not_executed;
    failure.pid = 0;
    failure.text = "./missing: No such file or directory";
    EXPECT_EQ(text_report(ended({failure})),
              "dlaunch: rank 0 (node2) could not be executed: ./missing: No such file or directory\n");
    failure.text = "/" + std::string(300, 'x') + ": No such file or directory";
    const auto found = lines(text_report(ended({failure})));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_LE(found[0].size(), 100U);
    EXPECT_EQ(found[1], "  " + failure.text);
}

TEST(TextReport, OfAMemoryKillNamesTheLimit) {
    Failure failure = exited(1, 0);
    failure.how = ExitKind::signalled;
    failure.signal = SIGKILL;
    failure.out_of_memory = OutOfMemory::certain;
    failure.memory_limit = "900 MiB";
    EXPECT_TRUE(has_line(text_report(ended({failure})),
                         "  memory:        killed by the kernel, its cgroup ran out of memory (limit 900 MiB)"));
}

TEST(TextReport, OfATimeOutNamesTheRunningRanks) {
    std::vector<Failure> failures;
    for (const int rank : {0, 1, 2, 5}) {
        failures.push_back(exited(rank, 0));
        failures.back().how = ExitKind::timed_out;
        failures.back().text = "30 s";
    }
    JobResult end = ended(failures);
    end.reason = "the job outlived --timeout=30";
    EXPECT_EQ(text_report(end), "dlaunch: the job outlived --timeout 30 s; ranks 0-2, 5 were still running\n");
    failures.resize(1);
    EXPECT_EQ(text_report(ended(failures)),
              "dlaunch: rank 0 (node2, pid 4700) was still running when the job outlived --timeout 30 s\n");
    failures.clear();
    for (int rank = 0; rank < 200; rank += 2) {
        failures.push_back(exited(rank, 0));
        failures.back().how = ExitKind::timed_out;
    }
    const std::string text = text_report(ended(failures));
    EXPECT_LE(text.size(), 101U);
    EXPECT_TRUE(text.ends_with("98 were still running\n")) << text;
}

TEST(TextReport, AdvisesWhenTheWorkerLeftNoEvidence) {
    Failure failure = exited(1, 1);
    EXPECT_NE(text_report(ended({failure})).find("@record"), std::string::npos);
    failure.how = ExitKind::signalled;
    failure.signal = SIGSEGV;
    EXPECT_NE(text_report(ended({failure})).find("PYTHONFAULTHANDLER"), std::string::npos);
    failure.signal = SIGKILL;
    EXPECT_NE(text_report(ended({failure})).find("dmesg"), std::string::npos);
    failure.stderr_tail = {"words"};
    EXPECT_EQ(text_report(ended({failure})).find("dmesg"), std::string::npos);
}

TEST(TextReport, KeepsADeclaredReasonBesideTheCause) {
    JobResult end = ended({exited(1, 1)});
    end.reason = "crash loop: 10 rounds in a row ended alike";
    EXPECT_TRUE(has_line(text_report(end), "  the job:       crash loop: 10 rounds in a row ended alike"));
}

}  // namespace
}  // namespace dlaunch::agent
