#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

/// A job without --rdzv-id, whose nodes run `with` until the test changes `program`.
struct UnnamedJob : Job {
    UnnamedJob(int nodes, const std::string& with) : Job(options(nodes, with)) {
        job_id = kUnnamedJob;
        program = with;
    }
    static Coordinator::Options options(int nodes, const std::string& with) {
        auto options = Job::options(nodes, nodes, 0);
        options.job_id = kUnnamedJob;
        options.role = "default";
        options.program = with;
        return options;
    }
};

TEST(CoordinatorUnnamed, another_program_at_the_endpoint_of_an_unnamed_job_that_runs_is_a_warning) {
    UnnamedJob job(1, "train.py");
    job.join(0);
    job.program = "hot_fix.py";
    job.join(1);
    EXPECT_FALSE(job.received<Refused>(1)) << "a renamed script is no other job";
    EXPECT_EQ(
        job.received<Notice>(0)->text,
        "node1 joins with program hot_fix.py, but the job runs train.py; give each job its own port and --rdzv-id");
    job.role = "evaluator";
    job.program = "eval.py";
    job.join(2);
    EXPECT_FALSE(job.received<Notice>(0)) << "another role may have a program of its own";
}

TEST(CoordinatorUnnamed, programs_that_joined_before_the_first_round_are_part_of_the_job) {
    UnnamedJob job(2, "server.py");
    job.join(0);
    job.program = "trainer.py";
    job.join(1);
    EXPECT_TRUE(job.received<Assigned>(1));
    job.join(2);
    EXPECT_FALSE(job.received<Notice>(0)) << "a spare for either";
    job.program = "other.py";
    job.join(3);
    EXPECT_TRUE(job.received<Notice>(0));
}

TEST(CoordinatorUnnamed, warnings_of_programs_have_a_limit) {
    UnnamedJob job(1, "train.py");
    job.join(0);
    int warnings = 0;
    for (int node = 1; node <= 200; ++node) {
        job.program = node % 2 == 0 ? fmt::format("program{}", node) : fmt::format("{:0>4000}", node);
        job.join(node);
        const auto notice = job.received<Notice>(0);
        if (!notice) continue;
        ++warnings;
        EXPECT_LT(notice->text.size(), 400U);
    }
    EXPECT_EQ(warnings, 63) << "and train.py";
}

TEST(CoordinatorUnnamed, a_named_job_may_have_several_programs) {
    Job job(2, 2);
    job.program = "train.py";
    job.join(0);
    job.program = "other.py";
    job.join(1);
    EXPECT_TRUE(job.received<Assigned>(1));
}

}  // namespace
}  // namespace dlaunch::rendezvous
