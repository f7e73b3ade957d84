/// Newcomers of an elastic job wait while the round runs, and cost one restart together.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

Coordinator::Options elastic(int max_nodes, Milliseconds last_call = 4s) {
    auto options = Job::options(1, max_nodes, 1);
    options.last_call = last_call;
    return options;
}

/// Node 0 runs alone.
struct Alone : Job {
    explicit Alone(int max_nodes) : Job(elastic(max_nodes)) {
        join(0);
        pass(4'100ms, {0});
        EXPECT_EQ(heard<Assigned>(0)->group_world_size, 1);
    }
};

TEST(CoordinatorNewcomers, wait_until_no_other_has_come_for_the_last_call) {
    Alone job(5);
    job.join(1);
    EXPECT_EQ(job.heard<Tell>(1)->text,
              "a newcomer to job \"job\", which runs on 1 node: taken in when no other node has come for 4 s");
    job.pass(3s, {0, 1});
    job.join(2);
    job.pass(3s, {0, 1, 2});
    job.join(3);
    job.pass(3'900ms, {0, 1, 2, 3});
    EXPECT_FALSE(job.heard<StopRound>(0));
    job.pass(200ms, {0, 1, 2, 3});
    EXPECT_EQ(job.heard<StopRound>(0)->reason, "node1, node2, node3 joined");
    job.over(0);
    EXPECT_EQ(job.heard<Assigned>(3)->group_world_size, 4);
    EXPECT_EQ(job.coordinator.round(), 1) << "one restart for all of them";
}

TEST(CoordinatorNewcomers, the_last_place_ends_the_waiting) {
    Alone job(3);
    job.join(1);
    EXPECT_FALSE(job.heard<StopRound>(0));
    job.join(2);
    EXPECT_EQ(job.heard<StopRound>(0)->reason, "node1, node2 joined");
}

TEST(CoordinatorNewcomers, one_that_goes_again_costs_nothing) {
    Alone job(3);
    job.join(1);
    job.dies(1);
    job.pass(10s, {0});
    EXPECT_FALSE(job.heard<StopRound>(0));
}

TEST(CoordinatorNewcomers, a_failure_takes_all_along) {
    Alone job(5);
    job.join(1), job.join(2);
    job.fails(0);
    job.over(0);
    EXPECT_EQ(job.heard<Assigned>(2)->group_world_size, 3);
}

TEST(CoordinatorNewcomers, a_loss_takes_all_along) {
    Job job(elastic(5));
    job.join(0), job.join(1);
    job.pass(4'100ms, {0, 1});
    job.join(2);
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.heard<Assigned>(2)->group_world_size, 2);
}

TEST(CoordinatorNewcomers, are_not_taken_in_when_the_job_is_about_to_end) {
    Job job(elastic(5, 1s));
    job.join(0), job.join(1);
    job.pass(1'100ms, {0, 1});
    job.join(2);
    job.over(0, true);
    job.pass(5s, {0, 1, 2});
    EXPECT_FALSE(job.heard<StopRound>(1));
}

}  // namespace
}  // namespace dlaunch::rendezvous
