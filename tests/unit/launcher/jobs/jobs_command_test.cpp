#include "launcher/jobs/jobs_command.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

TEST(JobsRequest, reads_job_and_options_in_any_order) {
    const auto logs = read_jobs_request("logs", {"-f", "night", "--rank", "3"});
    ASSERT_TRUE(logs);
    EXPECT_EQ(logs->job, "night");
    EXPECT_EQ(logs->rank, 3);
    EXPECT_TRUE(logs->follow);
    EXPECT_EQ(read_jobs_request("logs", {"--rank=4"})->rank, 4);
    EXPECT_TRUE(read_jobs_request("status", {"--json"})->json);
    EXPECT_EQ(read_jobs_request("stop", {"--", "-odd"})->job, "-odd");
    EXPECT_TRUE(read_jobs_request("ps", {"--help"})->help);
}

TEST(JobsRequest, names_what_is_wrong) {
    EXPECT_EQ(read_jobs_request("stop", {"--json"}).error().text,
              "stop: --json, expected what dlaunch stop --help shows");
    EXPECT_EQ(read_jobs_request("ps", {"aux"}).error().text, "ps: aux, expected what dlaunch ps --help shows");
    EXPECT_EQ(read_jobs_request("stop", {"a", "b"}).error().text, "stop: b, expected what dlaunch stop --help shows");
    EXPECT_EQ(read_jobs_request("stop", {""}).error().text,
              "stop: an empty name, expected what dlaunch stop --help shows");
    for (const char* rank : {"--rank", "--rank=x", "--rank=-1"}) {
        EXPECT_FALSE(read_jobs_request("logs", {rank})) << rank;
        EXPECT_EQ(read_jobs_request("logs", {rank}).error().status, 2) << rank;
    }
}

}  // namespace
}  // namespace dlaunch::launcher
