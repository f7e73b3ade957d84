#include "agent/slurm_job.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

struct Shown {
    std::string state = "COMPLETING", reason = "None", end = "2026-11-26T11:56:19", preempted = "None", name = "p";
};

std::string text(const Shown& shown) {
    return fmt::format(
        "JobId=9 JobName={}\n   UserId=u(1000) GroupId=u(1000) MCS_label=N/A\n   JobState={} Reason={} "
        "Dependency=(null)\n   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:15\n   RunTime=00:00:02 "
        "TimeLimit=UNLIMITED TimeMin=N/A\n   StartTime=2026-11-26T11:56:17 EndTime={} Deadline=N/A\n   "
        "PreemptEligibleTime=2026-11-26T11:56:17 PreemptTime={}\n",
        shown.name, shown.state, shown.reason, shown.end, shown.preempted);
}

TEST(SlurmJob, Scancel) {
    EXPECT_TRUE(ends_for_good(text({})));
    EXPECT_TRUE(ends_for_good(text({.state = "CANCELLED"})));
    EXPECT_TRUE(ends_for_good(text({.name = "a JobState=RUNNING Reason=TimeLimit"})));
}

TEST(SlurmJob, TheEndOfTheBatchScript) {
    EXPECT_TRUE(ends_for_good(text({.state = "COMPLETED"})));
    EXPECT_TRUE(ends_for_good(text({.reason = "NonZeroExitCode"})));
}

TEST(SlurmJob, TheTimeLimit) {
    EXPECT_FALSE(ends_for_good(text({.reason = "TimeLimit"})));
    EXPECT_FALSE(ends_for_good(text({.state = "TIMEOUT", .reason = "TimeLimit"})));
}

TEST(SlurmJob, Preemption) {
    EXPECT_FALSE(ends_for_good(text({.state = "RUNNING", .end = "Unknown", .preempted = "2026-11-26T11:56:18"})));
    EXPECT_FALSE(ends_for_good(text({.preempted = "2026-11-26T11:56:18"})));
    EXPECT_FALSE(ends_for_good(text({.state = "PREEMPTED"})));
}

TEST(SlurmJob, ASignalToAJobThatRuns) { EXPECT_FALSE(ends_for_good(text({.state = "RUNNING"}))); }

TEST(SlurmJob, ARequeue) { EXPECT_FALSE(ends_for_good(text({.end = "Unknown"}))); }

TEST(SlurmJob, UnknownAnswers) {
    for (const std::string_view answer :
         {"", "slurm_load_jobs error: Invalid job id specified\n", "JobState=CANCELLED"})
        EXPECT_FALSE(ends_for_good(answer)) << answer;
}

}  // namespace
}  // namespace dlaunch::agent
