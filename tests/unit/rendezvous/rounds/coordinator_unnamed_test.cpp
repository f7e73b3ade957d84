#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(CoordinatorUnnamed, another_program_at_the_endpoint_of_an_unnamed_job_that_runs_is_a_warning) {
    auto options = Job::options(1, 1, 0);
    options.job_id = kUnnamedJob;
    options.role = "default";
    options.program = "train.py";
    Job job(options);
    job.job_id = kUnnamedJob;
    job.program = "train.py";
    job.join(0);
    job.program = "hot_fix.py";
    job.join(1);
    EXPECT_FALSE(job.heard<Refused>(1)) << "a renamed script is no other job";
    EXPECT_EQ(
        job.heard<Tell>(0)->text,
        "node1 brings hot_fix.py to a job of train.py; another job needs another port, and an --rdzv-id for each");
    job.role = "evaluator";
    job.program = "eval.py";
    job.join(2);
    EXPECT_FALSE(job.heard<Tell>(0)) << "another role may have a program of its own";
}

TEST(CoordinatorUnnamed, programs_that_were_there_before_it_began_are_part_of_it) {
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
    EXPECT_FALSE(job.heard<Tell>(0)) << "a spare for either";
    job.program = "other.py";
    job.join(3);
    EXPECT_TRUE(job.heard<Tell>(0));
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
