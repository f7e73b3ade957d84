#include "launcher/jobs/running_job.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Pids = std::vector<pid_t>;

JobProcess alone(pid_t pid, const std::string& job, const std::string& began) {
    return read_process(pid, R"({"job":")" + job + R"(","host":"h","state":"running","nodes":{"min":1,"max":1},)" +
                                 R"("program":"./prog","began":")" + began +
                                 R"(","workers":[{"rank":0,"local_rank":0,"pid":11,"alive":true},)" +
                                 R"({"rank":1,"local_rank":1,"pid":12,"alive":false,"status":3}]})");
}

JobProcess of_several(pid_t pid, const std::string& job, const std::string& endpoint, const std::string& more = "") {
    return read_process(pid, R"({"job":")" + job + R"(","state":"waiting","nodes":{"min":2,"max":4},"endpoint":")" +
                                 endpoint + R"(","program":"p","began":"2026")" + more + "}");
}

TEST(RunningJob, a_reply_is_read) {
    const JobProcess process = alone(10, "night", "2026-11-26T09:00:00.000Z");
    EXPECT_EQ(process.job, "night");
    EXPECT_EQ(process.state, "running");
    ASSERT_EQ(process.workers.size(), 2u);
    EXPECT_EQ(process.workers[1].pid, 12);
    EXPECT_FALSE(process.workers[1].alive);
}

TEST(RunningJob, what_is_no_reply_means_that_the_process_does_not_respond) {
    for (const char* reply : {"", "nonsense", "[1]", R"({"job":7})", R"({"job":"x","workers":[{"pid":"y"}]})"}) {
        const JobProcess process = read_process(10, reply);
        EXPECT_EQ(process.state, "not responding") << reply;
        EXPECT_EQ(process.job, "?") << reply;
        EXPECT_EQ(process.pid, 10);
    }
}

TEST(RunningJob, control_bytes_are_escaped) {
    EXPECT_EQ(read_process(1, R"({"job":"a\u001b[31mb"})").job.find('\033'), std::string::npos);
}

TEST(RunningJob, jobs_of_one_node_are_apart_even_with_one_name) {
    const auto jobs = group_jobs({alone(20, "x", "2"), alone(10, "x", "1")});
    ASSERT_EQ(jobs.size(), 2u);
    EXPECT_EQ(jobs[0].processes[0].pid, 10) << "the oldest first";
}

TEST(RunningJob, nodes_of_one_job_have_id_and_endpoint_in_common) {
    const auto jobs = group_jobs(
        {of_several(1, "none", "n1:29400"), of_several(2, "none", "n2:29400"), of_several(3, "none", "n1:29400")});
    ASSERT_EQ(jobs.size(), 2u);
    EXPECT_EQ(pids_to_stop(jobs[0]), (Pids{1, 3}));
    EXPECT_EQ(pids_to_stop(jobs[1]), Pids{2});
}

TEST(RunningJob, a_front_end_stands_for_its_nodes) {
    const auto jobs = group_jobs({of_several(1, "j", "h:1", R"(,"has_front_end":true)"),
                                  of_several(2, "j", "", R"(,"is_front_end":true)"),
                                  of_several(3, "j", "h:1", R"(,"has_front_end":true)")});
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].processes.size(), 3u);
    EXPECT_EQ(pids_to_stop(jobs[0]), Pids{2});
}

TEST(RunningJob, the_only_job_needs_no_name) {
    const auto jobs = group_jobs({alone(10, "night", "1")});
    EXPECT_EQ(choose_job(jobs, std::nullopt)->id, "night");
    EXPECT_EQ(choose_job(jobs, "night")->id, "night");
    EXPECT_EQ(choose_job(jobs, "10")->id, "night");
    const auto none = choose_job(jobs, "day\n");
    EXPECT_EQ(none.error().text, "no job day\\x0a of yours runs on this node; dlaunch ps lists those that do");
    EXPECT_EQ(none.error().status, 1);
    EXPECT_EQ(choose_job({}, std::nullopt).error().status, 1);
}

TEST(RunningJob, an_id_with_control_characters_can_be_named) {
    const auto jobs = group_jobs({alone(10, R"(a\nb)", "1"), alone(20, "day", "2")});
    EXPECT_EQ(choose_job(jobs, "a\nb")->processes.front().pid, 10);
    EXPECT_EQ(choose_job(jobs, "a\\x0ab")->processes.front().pid, 10) << "as ps shows it";
}

TEST(RunningJob, several_jobs_need_one) {
    const auto jobs = group_jobs({alone(10, "night", "1"), alone(20, "day", "2"), alone(30, "day", "3")});
    const auto any = choose_job(jobs, std::nullopt), day = choose_job(jobs, "day");
    EXPECT_EQ(any.error().text,
              "3 jobs run on this node, expected the name or pid of one: night (pid 10), day (pid 20), day (pid 30)");
    EXPECT_EQ(any.error().status, 2);
    EXPECT_EQ(day.error().text, "2 jobs run on this node, expected the pid of one: day (pid 20), day (pid 30)");
    EXPECT_EQ(choose_job(jobs, "30")->processes.front().pid, 30);
}

TEST(RunningJob, the_table_has_a_row_for_each_job) {
    EXPECT_EQ(jobs_text({}), "");
    EXPECT_EQ(jobs_text(group_jobs({alone(10, "night", "2026-11-26T09:00:00.000Z"), read_process(2000, "")})),
              "JOB    PID   STATE           WORKERS  BEGAN                 PROGRAM\n"
              "?      2000  not responding  -        -                     ?\n"
              "night  10    running         1 of 2   2026-11-26T09:00:00Z  ./prog\n");
}

TEST(RunningJob, a_job_is_described_with_its_workers) {
    const std::string text = job_text(group_jobs({alone(10, "night", "1")}).front());
    EXPECT_NE(text.find("state:    running, round 0, 0 restarts\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  rank 0     local rank 0    pid 11       running\n"), std::string::npos) << text;
    EXPECT_NE(text.find("  rank 1     local rank 1    pid 12       ended with 3\n"), std::string::npos) << text;
    const std::string waits = job_text(group_jobs({of_several(1, "j", "h:1")}).front());
    EXPECT_NE(waits.find("state:    waiting for 2 to 4 nodes\n"), std::string::npos) << waits;
}

TEST(RunningJob, json_has_the_reply_and_the_pid_to_signal) {
    const std::string json = job_json(group_jobs({of_several(1, "j", "h:1")}).front());
    EXPECT_EQ(json, R"({"job":"j","processes":[{"pid":1,"state":"waiting","job":"j","nodes":{"min":2,"max":4},)"
                    R"("endpoint":"h:1","program":"p","began":"2026"}]})"
                    "\n");
}

}  // namespace
}  // namespace dlaunch::launcher
