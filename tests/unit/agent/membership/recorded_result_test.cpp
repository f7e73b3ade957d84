#include "agent/membership/recorded_result.hpp"

#include <gtest/gtest.h>

#include "agent/errors/failure_record.hpp"

namespace dlaunch::agent {
namespace {

rendezvous::Snapshot record_of(std::vector<std::string> records) {
    rendezvous::Snapshot record;
    record.round = 2;
    record.config.restarts.max_restarts = 3;
    record.progress.restarts.used = 1;
    record.verdict = {7, "", std::move(records)};
    return record;
}

Failure failure_of(int rank) {
    Failure failure;
    failure.rank = rank;
    failure.code = 7;
    failure.program = "./train";
    return failure;
}

TEST(RecordedResult, holds_what_the_reports_of_the_nodes_hold) {
    const JobResult end = recorded_result(
        record_of({pack_failures({failure_of(3)}, 10'000), "", pack_failures({failure_of(5)}, 10'000)}));
    EXPECT_EQ(end.exit_status, 7);
    EXPECT_EQ(end.rounds, 3);
    ASSERT_EQ(end.failures.size(), 2U);
    EXPECT_EQ(end.failures[1].rank, 5);
    const std::string text = text_report(end);
    EXPECT_NE(text.find("restarts:      1 of 3 were used"), std::string::npos);
}

TEST(RecordedResult, of_a_job_without_a_verdict_has_rounds_and_restarts) {
    rendezvous::Snapshot record = record_of({});
    record.verdict.reset();
    const JobResult end = recorded_result(record);
    EXPECT_EQ(end.exit_status, 0);
    EXPECT_EQ(end.restarts, 1);
    EXPECT_TRUE(end.failures.empty());
}

}  // namespace
}  // namespace dlaunch::agent
