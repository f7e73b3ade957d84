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

TEST(TextReport, NamesTheProgram) {
    JobResult end = ended({exited(1, 3)});
    end.program = "./a : ./b";
    EXPECT_TRUE(has_line(text_report(end), "  program:       ./a : ./b"));
}

TEST(TextReport, DoesNotRepeatTheLineJustPrinted) {
    const JobResult end = ended({exited(3, 7)});
    const std::string whole = text_report(end);
    EXPECT_EQ(text_report(end, "something else"), whole);
    EXPECT_EQ(text_report(end, summary(end.failures[0])), whole.substr(whole.find('\n') + 1));
}

TEST(TextReport, QuotesTheMessageAndTheStackOfARecord) {
    Failure failure = exited(1, 1);
    failure.record = ErrorRecord{"E: said \"no\" and \\ 100% of %s {rank} ${x}\nzu gro\xC3\x9F \x1b[2J",
                                 "Trace\n  in f\n\n\tin g\r\nE: x\n", ""};
    const std::string text = text_report(ended({failure}));
    EXPECT_NE(text.find("\n    E: said \"no\" and \\ 100% of %s {rank} ${x}\n    zu gro\xC3\x9F \\x1b[2J\n"
                        "    Trace\n      in f\n    \tin g\n    E: x\n"),
              std::string::npos)
        << text;
}

TEST(TextReport, CutsARecordOnATerminalOnly) {
    Failure failure = exited(1, 1);
    const std::string lengthy = std::string(20'000, 'x') + " tail end";
    failure.record = ErrorRecord{lengthy, "at " + lengthy, ""};
    const std::string text = text_report(ended({failure}));
    EXPECT_TRUE(has_line(text, "    " + lengthy));
    EXPECT_TRUE(has_line(text, "    at " + lengthy));
    for (const std::string& each : lines(text_report(ended({failure}), {}, {.columns = 60})))
        EXPECT_LT(each.size(), 60U);
}

TEST(TextReport, HighlightsTheFirstLine) {
    const auto found = lines(text_report(ended({exited(1, 2)}), {}, {.columns = 80, .highlight = true}));
    EXPECT_EQ(found[0], "\x1b[1;31mdlaunch: rank 1 (node2, pid 4701) exited with 2 after 12.3 s\x1b[0m");
    EXPECT_EQ(found[1], "  exit status:   2");
}

TEST(TextReport, HasTwelveLinesAtMost) {
    Failure first = exited(0, 1);
    for (int number = 0; number < 40; ++number) first.stderr_tail.push_back("line " + std::to_string(number));
    first.stderr_file = "/logs/0/stderr.log";
    std::vector<Failure> failures{first};
    for (int rank = 1; rank < 40; ++rank) {
        failures.push_back(exited(rank, 1 + rank));
        failures.back().message = "rank 0 has left the group";
    }
    JobResult end = ended(failures);
    end.others = OtherRanks{{50, 51}, {60}, {}};
    end.max_restarts = 3;
    const auto found = lines(text_report(end));
    EXPECT_EQ(found.size(), 12U) << text_report(end);
    end.failures.resize(2);
    const std::string text = text_report(end);
    EXPECT_EQ(lines(text).size(), 12U) << text;
    EXPECT_TRUE(has_line(text, "    line 39"));
}

TEST(TextReport, ShowsTheInnermostFrameAndTheMessage) {
    Failure failure = exited(2, 1);
    failure.stderr_tail = {"loading",
                           "Traceback (most recent call last):",
                           "  File \"t.py\", line 9, in <module>",
                           "    main()",
                           "  File \"t.py\", line 2, in inner",
                           "    raise ValueError(\"NaN\")",
                           "    ^^^^^^",
                           "ValueError: NaN"};
    failure.message = "ValueError: NaN";
    EXPECT_EQ(text_report(ended({failure})),
              "dlaunch: rank 2 (node2, pid 4702) exited with 1 after 12.3 s\n"
              "    File \"t.py\", line 2, in inner\n"
              "      raise ValueError(\"NaN\")\n"
              "    ValueError: NaN\n"
              "  exit status:   1\n");
    failure.is_on_screen = true;
    EXPECT_EQ(text_report(ended({failure})),
              "dlaunch: rank 2 (node2, pid 4702) exited with 1 after 12.3 s\n"
              "  exit status:   1\n");
}

TEST(TextReport, ShowsARecordThatTheScreenHasNot) {
    Failure failure = exited(2, 1);
    failure.is_on_screen = true;
    failure.stderr_tail = {"loading"};
    failure.record = ErrorRecord{"ValueError: NaN", "", ""};
    EXPECT_TRUE(has_line(text_report(ended({failure})), "    ValueError: NaN"));
    failure.stderr_tail = {"ValueError: NaN"};
    EXPECT_FALSE(has_line(text_report(ended({failure})), "    ValueError: NaN"));
}

TEST(TextReport, QuotesTheStderrTailAsDisplayed) {
    Failure failure = exited(1, 1);
    failure.stderr_tail = {"\x1b[1;31mred\x1b[0m words\x1b[K", " 10%\r 20%\r", "bad \xFF byte", "", "the \x1b[2J last"};
    const std::string text = text_report(ended({failure}));
    EXPECT_NE(text.find("\n    red words\n     20%\n    bad \\xff byte\n    the \\x1b[2J last\n"), std::string::npos)
        << text;
}

TEST(TextReport, NamesTheFolderOfTheLogs) {
    Failure failure = exited(1, 1);
    JobResult end = ended({failure});
    EXPECT_EQ(text_report(end).find("logs:"), std::string::npos);
    end.log_directory = "/logs/job_abc";
    EXPECT_TRUE(has_line(text_report(end), "  logs:          /logs/job_abc/"));
    end.log_name = "logs/latest";
    EXPECT_TRUE(has_line(text_report(end), "  logs:          logs/latest/"));
    end.failures[0].stdout_file = "/logs/job_abc/attempt_2/1/stdout.log";
    EXPECT_TRUE(has_line(text_report(end), "  logs:          /logs/job_abc/attempt_2/1/"));
    end.failures[0].log_folder = "logs/latest-node3/attempt_2/1";
    EXPECT_TRUE(has_line(text_report(end), "  logs:          logs/latest-node3/attempt_2/1/"));
}

TEST(TextReport, BreaksThePathOfTheLogsBelowTheRunRatherThanCuttingIt) {
    JobResult end = ended({exited(1, 1)});
    const std::string run = "/tmp/dlaunch-20261126-194020-train_transformer_lm.py-uj25npm3/";
    end.failures[0].stderr_file = run + "attempt_0/1/stderr.log";
    const std::string text = text_report(end, {}, {.columns = 80});
    EXPECT_TRUE(has_line(text, "  logs:          " + run)) << text;
    EXPECT_TRUE(has_line(text, "                 attempt_0/1/")) << text;
    EXPECT_TRUE(has_line(text_report(end), "  logs:          " + run + "attempt_0/1/")) << "no terminal";
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
                        "  also failed:   rank 6 exited with 1: the same error\n"
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
    EXPECT_TRUE(has_line(text, "  also failed:   ranks 5-250, 255-499 otherwise"));
    EXPECT_LE(lines(text).size(), 12U);
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

TEST(TextReport, SaysOfSeveralRanksThatTheyWereKilled) {
    std::vector<Failure> failures{exited(0, 1), exited(1, 1), exited(2, 1), exited(4, 1), exited(5, 0), exited(6, 0)};
    for (const std::size_t at : {1U, 2U, 3U}) {
        failures[at].how = ExitKind::signalled;
        failures[at].signal = SIGSEGV;
    }
    const std::string text = text_report(ended(failures));
    EXPECT_TRUE(has_line(text, "  also failed:   ranks 1-2, 4 were killed by SIGSEGV"));
    EXPECT_TRUE(has_line(text, "  also failed:   ranks 5-6 exited with 0 while their peers needed it"));
    failures.resize(2);
    EXPECT_TRUE(has_line(text_report(ended(failures)), "  also failed:   rank 1 was killed by SIGSEGV"));
}

TEST(TextReport, NamesTheExceptionOfACppProgram) {
    std::vector<Failure> failures{exited(0, 1), exited(1, 1), exited(2, 1)};
    failures[1].message = "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no data";
    failures[2].message = "terminate called after throwing an instance of 'int'";
    const std::string text = text_report(ended(failures));
    EXPECT_TRUE(has_line(text, "  also failed:   rank 1 exited with 1: std::runtime_error: no data"));
    EXPECT_TRUE(has_line(text, "  also failed:   rank 2 exited with 1: " + failures[2].message));
}

TEST(TextReport, NamesTheRoleWhereTheUserHas) {
    JobResult end = ended({exited(1, 1)});
    EXPECT_EQ(text_report(end).find("role:"), std::string::npos);
    end.failures[0].role = "trainer";
    EXPECT_TRUE(has_line(text_report(end), "  role:          trainer"));
}

TEST(TextReport, QuotesAMessageThatNamesRanksInALineOfItsOwn) {
    std::vector<Failure> failures{exited(0, 1), exited(1, 4), exited(2, 4)};
    failures[1].message = failures[2].message = "error: rank 0 has left the group";
    EXPECT_NE(text_report(ended(failures))
                  .find("  also failed:   ranks 1-2 exited with 4\n    \"error: rank 0 has left the group\"\n"),
              std::string::npos);
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

TEST(TextReport, ListsRanksOfSeveralHostsInOrderAtTheTimeLimit) {
    std::vector<Failure> failures;
    for (const int rank : {2, 3, 0, 1}) {
        failures.push_back(exited(rank, 0));
        failures.back().how = ExitKind::timed_out;
        failures.back().last_line = "step " + std::to_string(rank);
    }
    const std::string text = text_report(ended(failures));
    EXPECT_LT(text.find("rank 0,"), text.find("rank 1,"));
    EXPECT_LT(text.find("rank 1,"), text.find("rank 2,"));
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
    EXPECT_EQ(text_report(end),
              "dlaunch: the job outlived --timeout 30 s; ranks 0-2, 5 were still running\n  exit status:   84\n");
    failures.resize(1);
    EXPECT_EQ(text_report(ended(failures)),
              "dlaunch: rank 0 (node2, pid 4700) was still running when the job outlived --timeout 30 s\n"
              "  exit status:   84\n");
    failures.clear();
    for (int rank = 0; rank < 200; rank += 2) {
        failures.push_back(exited(rank, 0));
        failures.back().how = ExitKind::timed_out;
    }
    const std::string text = text_report(ended(failures));
    EXPECT_LE(lines(text)[0].size(), 100U);
    EXPECT_TRUE(lines(text)[0].ends_with("98 were still running")) << text;
}

TEST(TextReport, AdvisesWhenTheWorkerLeftNoEvidence) {
    JobResult end = ended({exited(1, 1)});
    Failure& failure = end.failures[0];
    EXPECT_EQ(text_report(end).find("@record"), std::string::npos) << "no program of Python";
    end.is_python = true;
    EXPECT_NE(text_report(end).find("@record"), std::string::npos);
    failure.how = ExitKind::signalled;
    failure.signal = SIGSEGV;
    EXPECT_NE(text_report(end).find("PYTHONFAULTHANDLER"), std::string::npos);
    end.is_python = false;
    EXPECT_NE(text_report(end).find("ulimit -c"), std::string::npos);
    failure.signal = SIGKILL;
    EXPECT_NE(text_report(end).find("dmesg"), std::string::npos);
    failure.stderr_tail = {"words"};
    EXPECT_EQ(text_report(end).find("dmesg"), std::string::npos);
}

TEST(TextReport, AdvisesHowToConnectStandardInput) {
    JobResult end = ended({exited(3, 1)});
    end.failures[0].stderr_tail = {"EOFError: EOF when reading a line"};
    end.failures[0].message = "EOFError: EOF when reading a line";
    EXPECT_EQ(text_report(end).find("--stdin"), std::string::npos) << "the rank has the input";
    end.lacks_input = true;
    EXPECT_TRUE(has_line(text_report(end), "  standard input is empty: --stdin=3 connects it to rank 3"));
    Failure other = end.failures[0];
    other.rank = 4;
    end.failures.push_back(other);
    EXPECT_TRUE(
        has_line(text_report(end), "  standard input is empty: --stdin=3 connects it to rank 3, --stdin=all to all"));
    end.failures.pop_back();
    end.failures[0].message = "EOFError: Ran out of input";
    EXPECT_EQ(text_report(end).find("--stdin"), std::string::npos) << "an empty file of pickle";
    end.failures[0].message = "bdb.BdbQuit";
    EXPECT_NE(text_report(end).find("--stdin=3"), std::string::npos);
}

TEST(TextReport, KeepsADeclaredReasonBesideTheCause) {
    JobResult end = ended({exited(1, 1)});
    end.reason = "crash loop: 10 rounds in a row ended alike";
    EXPECT_TRUE(has_line(text_report(end), "  the job:       crash loop: 10 rounds in a row ended alike"));
}

}  // namespace
}  // namespace dlaunch::agent
