#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(CoordinatorUnnamed, another_program_at_the_endpoint_of_an_unnamed_job_that_runs_is_refused) {
    auto options = Job::options(1, 1, 0);
    options.job_id = kUnnamedJob;
    options.role = "default";
    options.program = "train.py";
    Job job(options);
    job.job_id = kUnnamedJob;
    job.program = "train.py";
    job.join(0);
    job.program = "other.py";
    job.join(1);
    const auto refused = job.heard<Refused>(1);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 83);
    EXPECT_EQ(refused->reason,
              "this is job \"none\" of other.py, the coordinator serves job \"none\" of train.py, expected another "
              "port for another job, and an --rdzv-id for each");
    EXPECT_FALSE(job.heard<StopRound>(0));
    job.role = "evaluator";
    job.join(2);
    EXPECT_FALSE(job.heard<Refused>(2)) << "another role may have a program of its own";
}

TEST(CoordinatorUnnamed, whoever_is_there_before_it_begins_is_part_of_it) {
    auto options = Job::options(2, 2, 1);
    options.job_id = kUnnamedJob;
    options.role = "default";
    options.program = "server.py";
    Job job(options);
    job.job_id = kUnnamedJob;
    job.program = "server.py";
    job.join(0);
    job.program = "trainer.py";
    job.join(1);
    EXPECT_TRUE(job.heard<Assigned>(1));
    job.join(2);
    EXPECT_FALSE(job.heard<Refused>(2)) << "a spare for either";
    job.program = "other.py";
    job.join(3);
    EXPECT_TRUE(job.heard<Refused>(3));
}

TEST(CoordinatorUnnamed, a_named_job_may_have_several_programs) {
    Job job(2, 2);
    job.program = "train.py";
    job.join(0);
    job.program = "other.py";
    job.join(1);
    EXPECT_TRUE(job.heard<Assigned>(1));
}

}  // namespace
}  // namespace dlaunch::rendezvous
