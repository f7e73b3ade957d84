#include "rendezvous/rounds/coordinator.hpp"

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(CoordinatorLeave, a_signal_ends_a_fixed_job_everywhere) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    EXPECT_TRUE(job.received<StopRound>(0));
    job.over(0), job.over(1);
    for (int node : {0, 1}) EXPECT_EQ(job.received<End>(node)->verdict.status, 143);
}

TEST(CoordinatorLeave, a_signal_takes_one_node_from_an_elastic_job) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.over(0);
    EXPECT_EQ(job.coordinator.round(), 0);
    job.over(1);
    EXPECT_EQ(job.received<End>(1)->verdict.status, 143);
    EXPECT_EQ(job.received<Assigned>(0)->group_world_size, 1);
    EXPECT_FALSE(job.received<End>(0));
}

TEST(CoordinatorLeave, a_leave_of_the_hosting_node_ends_the_job) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.send(0, Leave{job.stamp(), Leave::Scope::node_if_enough, 130, "SIGINT received"});
    job.over(0), job.over(1);
    const auto end = job.received<End>(1);
    EXPECT_EQ(end->verdict.status, 130);
    EXPECT_EQ(end->verdict.reason, "SIGINT received on node0, which hosts the coordinator: the job ends with it");
}

TEST(CoordinatorLeave, an_elastic_job_that_waits_for_nodes_goes_on_waiting_without_one) {
    Job job(2, 3);
    job.join(0), job.join(1);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    EXPECT_EQ(job.received<End>(1)->verdict.status, 143);
    EXPECT_FALSE(job.received<End>(0));
    job.join(2), job.join(3);
    EXPECT_EQ(job.received<Assigned>(0)->group_world_size, 3);
}

TEST(CoordinatorLeave, an_elastic_job_with_too_few_nodes_left_ends_with_that_reason) {
    Job job(2, 3);
    for (int node : {0, 1, 2}) job.join(node);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.over(1);
    for (int node : {0, 2}) job.over(node);
    job.send(2, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.over(0), job.over(2);
    EXPECT_EQ(job.received<End>(0)->verdict.reason, "SIGTERM received on node2: too few nodes are left, the job ends");
}

TEST(CoordinatorLeave, after_the_failure_that_ends_the_job_its_status_stands) {
    for (const int min_nodes : {1, 2})
        for (const int leaver : {0, 1}) {
            Job job(min_nodes, 2);
            job.join(0), job.join(1);
            job.fails(0);
            job.send(leaver, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
            job.over(0), job.over(1);
            for (int node : {0, 1}) EXPECT_EQ(job.received<End>(node)->verdict.status, 3);
        }
}

TEST(CoordinatorLeave, a_signal_replaces_a_failure_that_would_be_restarted) {
    Job job(2, 2, 1);
    job.join(0), job.join(1);
    job.fails(0);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.over(0), job.over(1);
    for (int node : {0, 1}) EXPECT_EQ(job.received<End>(node)->verdict.status, 143);
}

TEST(CoordinatorLeave, a_leave_from_a_job_that_is_about_to_end_stops_no_node) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.over(0, true);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.fails(1);
    EXPECT_FALSE(job.received<StopRound>(2)) << "node 0 has finished, and no node could run its ranks again";
    job.over(1, false, Cause{143, "kind", "rank 1 was killed by SIGTERM", false, ""});
    EXPECT_EQ(job.received<End>(1)->verdict.status, 143);
    EXPECT_FALSE(job.received<StopRound>(2));
    job.over(2, true);
    EXPECT_EQ(job.coordinator.round(), 0);
    for (int node : {0, 2}) EXPECT_EQ(job.received<End>(node)->verdict.status, 0);
}

TEST(CoordinatorLeave, a_loss_during_a_leave_from_a_job_that_is_about_to_end_stops_no_node) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.over(0, true);
    job.over(2, true);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.dies(1);
    for (int node : {0, 2}) {
        const auto end = job.received<End>(node);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.status, 0);
    }
}

TEST(CoordinatorLeave, failures_after_a_leave_from_a_finishing_job_are_excused) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.over(0, true);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.over(1);
    job.fails(2), job.over(2);
    const auto again = job.received<Assigned>(2);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->stamp.round, 1);
    EXPECT_EQ(again->restart_count, 0);
}

TEST(CoordinatorLeave, failures_just_before_the_leave_of_a_whole_node_are_excused) {
    for (const int max_restarts : {0, 1})
        for (const int min_nodes : {1, 2}) {
            Job job(min_nodes, 2, max_restarts);
            job.join(0), job.join(1);
            job.fails(0);  // its workers lost those of node 1; the report of node 1 takes longer
            job.pass(100ms, {0, 1});
            job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received", true});
            job.over(0), job.over(1);
            EXPECT_EQ(job.received<End>(1)->verdict.status, 143);
            if (min_nodes == 2) {
                EXPECT_EQ(job.received<End>(0)->verdict.status, 143);
            } else {
                EXPECT_EQ(job.received<Assigned>(0)->restart_count, 0);
            }
        }
}

TEST(CoordinatorLeave, a_failure_long_before_a_leave_counts) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.fails(0);
    job.pass(1s, {0, 1});
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received", true});
    job.over(0), job.over(1);
    for (int node : {0, 1}) EXPECT_EQ(job.received<End>(node)->verdict.status, 3);
}

TEST(CoordinatorLeave, a_second_leave_ends_the_grace_on_all_nodes_where_the_job_ends_with_it) {
    for (const int min_nodes : {1, 2}) {
        Job job(min_nodes, 2, 1);
        job.join(0), job.join(1);
        Leave leave{job.stamp(), Leave::Scope::node_if_enough, 130, "SIGINT received"};
        job.send(1, leave);
        EXPECT_FALSE(job.received<StopRound>(0)->at_once);
        leave.at_once = true;
        job.send(1, leave);
        const auto again = job.received<StopRound>(0);
        EXPECT_EQ(again && again->at_once, min_nodes == 2) << "the others of an elastic job have their grace";
    }
}

}  // namespace
}  // namespace dlaunch::rendezvous
