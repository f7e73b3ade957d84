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
        EXPECT_EQ(received<Assigned>(0)->group_world_size, 1);
    }
};

TEST(CoordinatorNewcomers, wait_until_no_further_node_has_joined_for_the_last_call) {
    Alone job(5);
    job.join(1);
    const auto notice = job.received<Notice>(1);
    ASSERT_TRUE(notice);
    EXPECT_EQ(notice->text,
              "waiting as a newcomer: job \"job\" runs on 1 node; admitted when no further node has joined for 4 s, in "
              "16 s at the latest");
    EXPECT_TRUE(notice->about_receiver);
    job.pass(3s, {0, 1});
    job.join(2);
    job.pass(3s, {0, 1, 2});
    job.join(3);
    job.pass(3'900ms, {0, 1, 2, 3});
    EXPECT_FALSE(job.received<StopRound>(0));
    job.pass(200ms, {0, 1, 2, 3});
    EXPECT_EQ(job.received<StopRound>(0)->reason, "node1, node2, node3 joined");
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(3)->group_world_size, 4);
    EXPECT_EQ(job.coordinator.round(), 1) << "one restart for all of them";
}

TEST(CoordinatorNewcomers, a_full_job_ends_the_waiting) {
    Alone job(3);
    job.join(1);
    EXPECT_FALSE(job.received<StopRound>(0));
    job.join(2);
    EXPECT_EQ(job.received<StopRound>(0)->reason, "node1, node2 joined");
}

TEST(CoordinatorNewcomers, a_departed_newcomer_stops_no_round) {
    Alone job(3);
    job.join(1);
    job.dies(1);
    job.pass(10s, {0});
    EXPECT_FALSE(job.received<StopRound>(0));
}

TEST(CoordinatorNewcomers, nodes_that_come_and_go_do_not_keep_another_out) {
    Alone job(5);
    job.join(1);
    std::uint64_t incarnation = 0;
    for (int n = 0; n < 5; ++n) {  // until 15 s
        job.join(2, ++incarnation);
        job.pass(3s, {0, 1, 2});
        job.dies(2);
    }
    job.join(2, ++incarnation);
    job.pass(900ms, {0, 1, 2});
    EXPECT_FALSE(job.received<StopRound>(0));
    job.pass(100ms, {0, 1, 2});
    const auto stop = job.received<StopRound>(0);
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->reason, "node1, node2 joined");
}

TEST(CoordinatorNewcomers, a_node_that_only_comes_and_goes_ends_no_round) {
    Alone job(5);
    for (std::uint64_t incarnation = 1; incarnation <= 20; ++incarnation) {
        job.join(1, incarnation);
        job.pass(3s, {0, 1});
        job.dies(1);
    }
    job.pass(10s, {0});
    EXPECT_EQ(job.coordinator.round(), 0);
    EXPECT_FALSE(job.received<StopRound>(0));
}

TEST(CoordinatorNewcomers, a_failure_admits_all_newcomers) {
    Alone job(5);
    job.join(1), job.join(2);
    job.fails(0);
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(2)->group_world_size, 3);
}

TEST(CoordinatorNewcomers, a_loss_admits_all_newcomers) {
    Job job(elastic(5));
    job.join(0), job.join(1);
    job.pass(4'100ms, {0, 1});
    job.join(2);
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(2)->group_world_size, 2);
}

TEST(CoordinatorNewcomers, are_not_admitted_to_a_finishing_job) {
    Job job(elastic(5, 1s));
    job.join(0), job.join(1);
    job.pass(1'100ms, {0, 1});
    job.join(2);
    job.over(0, true);
    job.pass(5s, {0, 1, 2});
    EXPECT_FALSE(job.received<StopRound>(1));
}

}  // namespace
}  // namespace dlaunch::rendezvous
