#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "agent/errors/report.hpp"

namespace dlaunch::agent {
namespace {

using nlohmann::json;

Failure killed() {
    Failure failure;
    failure.rank = 3;
    failure.local_rank = 1;
    failure.node_rank = 1;
    failure.role = "trainer";
    failure.host = "node2";
    failure.pid = 4711;
    failure.how = ExitKind::signalled;
    failure.signal = SIGKILL;
    failure.because = "the earliest crash or recorded error";
    failure.out_of_memory = OutOfMemory::likely;
    failure.memory_limit = "900 MiB";
    failure.round = 2;
    failure.after = std::chrono::duration<double>(12.5);
    failure.when = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123));
    failure.record = ErrorRecord{"E: x", "Trace\n", R"({"message":"E: x"})"};
    failure.stderr_tail = {"one", "two \xFF"};
    failure.stdout_file = "/l/stdout.log";
    failure.stderr_file = "/l/stderr.log";
    failure.error_file = "/l/error.json";
    return failure;
}

TEST(JsonReport, ContainsEveryFieldOfAFailure) {
    JobResult end;
    end.failures = {killed()};
    const json found = json::parse(json_report(end))["failures"][0];
    const json expected = {
        {"summary", "rank 3 (node2, pid 4711) was killed by SIGKILL, likely out of memory, in round 2"},
        {"rank", 3},
        {"local_rank", 1},
        {"node_rank", 1},
        {"role", "trainer"},
        {"host", "node2"},
        {"pid", 4711},
        {"victim", false},
        {"because", "the earliest crash or recorded error"},
        {"how", "signalled"},
        {"code", nullptr},
        {"signal", 9},
        {"signal_name", "SIGKILL"},
        {"core_dumped", false},
        {"exit_status", 137},
        {"out_of_memory", "likely"},
        {"memory_limit", "900 MiB"},
        {"text", ""},
        {"round", 2},
        {"after", 12.5},
        {"time", "2023-11-14T22:13:20.123Z"},
        {"record", {{"message", "E: x"}, {"callstack", "Trace\n"}, {"raw", R"({"message":"E: x"})"}}},
        {"last_words", {"one", "two \\xff"}},
        {"stdout_file", "/l/stdout.log"},
        {"stderr_file", "/l/stderr.log"},
        {"error_file", "/l/error.json"}};
    EXPECT_EQ(found, expected);
}

TEST(JsonReport, ContainsEveryFieldOfTheJob) {
    JobResult end;
    end.job_id = "job \"7\"";
    end.program = "./train";
    end.exit_status = 143;
    end.rounds = 3;
    end.restarts = 2;
    end.max_restarts = 4;
    end.seconds = 1.5;
    end.command_line = {"dlaunch", "./train", "\xFF"};
    end.started = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123));
    end.ended = end.started + std::chrono::milliseconds(1500);
    end.reason = "SIGTERM received";
    end.log_directory = "/l";
    WorkerResult worker;
    worker.rank = 1;
    worker.local_rank = 0;
    worker.role = "trainer";
    worker.pid = 5;
    worker.host = "h";
    worker.exit_status = 143;
    worker.usage = {1024, 0.5, 0.25};
    end.workers = {worker};
    const json expected = {{"job_id", "job \"7\""},
                           {"program", "./train"},
                           {"command_line", {"dlaunch", "./train", "\\xff"}},
                           {"version", DLAUNCH_VERSION},
                           {"started", "2023-11-14T22:13:20.123Z"},
                           {"ended", "2023-11-14T22:13:21.623Z"},
                           {"exit_status", 143},
                           {"summary", "SIGTERM received"},
                           {"reason", "SIGTERM received"},
                           {"rounds", 3},
                           {"restarts", 2},
                           {"max_restarts", 4},
                           {"seconds", 1.5},
                           {"log_directory", "/l"},
                           {"failures", json::array()},
                           {"workers",
                            {{{"rank", 1},
                              {"local_rank", 0},
                              {"role", "trainer"},
                              {"pid", 5},
                              {"host", "h"},
                              {"exit_status", 143},
                              {"max_rss_kib", 1024},
                              {"user_seconds", 0.5},
                              {"system_seconds", 0.25}}}}};
    EXPECT_EQ(json::parse(json_report(end)), expected);
}

TEST(JsonReport, HasNullForAbsentFields) {
    Failure failure;
    failure.how = ExitKind::not_executed;
    failure.code = 127;
    JobResult end;
    end.failures = {failure};
    const json found = json::parse(json_report(end))["failures"][0];
    EXPECT_EQ(found["code"], 127);
    for (const char* key : {"pid", "signal", "signal_name", "record"}) EXPECT_TRUE(found[key].is_null()) << key;
}

TEST(JsonReport, NamesEveryWayToEnd) {
    for (auto [how, name] : {std::pair{ExitKind::exited, "exited"},
                             {ExitKind::signalled, "signalled"},
                             {ExitKind::not_executed, "not_executed"},
                             {ExitKind::timed_out, "timed_out"},
                             {ExitKind::hung, "hung"}}) {
        Failure failure;
        failure.how = how;
        JobResult end;
        end.failures = {failure};
        EXPECT_EQ(json::parse(json_report(end))["failures"][0]["how"], name);
    }
}

}  // namespace
}  // namespace dlaunch::agent
