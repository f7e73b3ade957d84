/// Replacement of a coordinator while a round is being stopped, or by a successor with incomplete knowledge of it.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

const Cause kFailure{3, "exit 3", "rank 1 exited with 3", false, "record"};

/// Two nodes of a round in which rank 1 has failed; node 0 has stopped, node 1 joins second.
void report_the_failure(Job& job, std::int32_t round = 0) {
    job.comes_back(0, round, 2, false);
    job.over(0);
    job.comes_back(1, round, 2, false);
    job.over(1, false, kFailure);
}

/// The restart count of the round that node 0 is assigned to next; -1: none.
int restarts_of_the_next_round(Job& job) {
    const auto assigned = job.received<Assigned>(0);
    return assigned ? assigned->restart_count : -1;
}

TEST(CoordinatorReplaced, a_failure_spends_its_restart_though_the_coordinator_dies_while_the_round_stops) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.fails(1);
    Job next = replacement_of(job);
    report_the_failure(next);
    EXPECT_EQ(restarts_of_the_next_round(next), 1);
}

TEST(CoordinatorReplaced, a_failure_known_only_to_members_spends_its_restart) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.fails(1);
    Job next = successor_of(job);
    report_the_failure(next);
    next.pass(6s, {0, 1});
    EXPECT_EQ(restarts_of_the_next_round(next), 1);
}

TEST(CoordinatorReplaced, failures_after_a_change_of_membership_do_not_count_for_the_successor_either) {
    Job job(1, 2, 1);
    job.join(0);
    job.pass(31s, {0});
    job.join(1);  // the job is full: the round is stopped at once
    Job next = replacement_of(job);
    next.comes_back(0, 0, 1, false);
    next.over(0, false, kFailure);
    EXPECT_EQ(restarts_of_the_next_round(next), 0);
}

TEST(CoordinatorReplaced, ends_when_all_nodes_of_its_predecessor_have_joined_and_left) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.join(2);  // a spare
    Job next = replacement_of(job);
    next.job = job.coordinator.config();
    for (int node : {0, 1}) next.comes_back(node, 0, 2);
    for (int node : {0, 1}) next.over(node, true);
    for (int node : {0, 1}) next.hangs_up(node);
    EXPECT_FALSE(next.coordinator.finished()) << "the spare may still join";
    next.rejoin(2, 0, {}, {1, -1, 1});
    EXPECT_EQ(next.received<End>(2)->verdict.status, 0);
    next.hangs_up(2);
    EXPECT_TRUE(next.coordinator.finished());
}

TEST(CoordinatorReplaced, a_node_evicted_from_an_earlier_round_takes_no_other_nodes_place) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.dies(2);
    for (int node : {0, 1}) job.over(node);  // and round 1 begins
    Job next = replacement_of(job);
    next.coordinator.end_job(next.now, 143, "SIGTERM received");
    next.joins_fenced(2, 0), next.joins_fenced(0, 1);
    for (int node : {0, 2}) next.hangs_up(node);
    EXPECT_FALSE(next.coordinator.finished()) << "node 1 has not received the verdict";
    next.joins_fenced(1, 1);
    EXPECT_EQ(next.received<End>(1)->verdict.status, 143);
    next.hangs_up(1);
    EXPECT_TRUE(next.coordinator.finished());
}

TEST(CoordinatorReplaced, a_node_evicted_from_the_round_that_is_stopped_takes_no_other_nodes_place) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2, 3}) job.join(node);  // 3 is a spare
    job.dies(2);
    Job next = replacement_of(job);
    next.coordinator.end_job(next.now, 143, "SIGTERM received");
    for (int node : {0, 1}) next.comes_back(node, 0, 3);
    next.joins_fenced(2, 0);
    for (int node : {0, 1}) next.over(node);
    EXPECT_EQ(next.received<End>(1)->verdict.status, 143);
    for (int node : {0, 1, 2}) next.hangs_up(node);
    EXPECT_FALSE(next.coordinator.finished()) << "the spare has not received the verdict";
    next.rejoin(3, 0, {}, {1, -1, 1});
    EXPECT_EQ(next.received<End>(3)->verdict.status, 143);
    next.hangs_up(3);
    EXPECT_TRUE(next.coordinator.finished());
}

TEST(CoordinatorReplaced, waits_a_node_timeout_for_nodes_of_its_predecessor) {
    Job job(2, 2, 1);
    for (int node : {0, 1, 2}) job.join(node);
    Job next = replacement_of(job);
    next.job = job.coordinator.config();
    for (int node : {0, 1}) next.comes_back(node, 0, 2);
    for (int node : {0, 1}) next.over(node, true);
    for (int node : {0, 1}) next.hangs_up(node);
    next.pass(4'800ms);
    EXPECT_FALSE(next.coordinator.finished());
    next.pass(300ms);
    EXPECT_TRUE(next.coordinator.finished());
}

TEST(CoordinatorReplaced, the_order_to_stop_reaches_members_that_did_not_receive_it) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.fails(1);
    Job next = replacement_of(job);
    next.comes_back(0, 0, 2);
    const auto stop = next.received<StopRound>(0);
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->reason, "rank 1 exited with 3");
}

TEST(CoordinatorReplaced, the_operators_end_of_the_job_stands) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.coordinator.end_job(job.now, 143, "SIGTERM received on head");
    job.listen();
    Job next = replacement_of(job);
    for (int node : {0, 1}) next.comes_back(node, 0, 2);
    EXPECT_TRUE(next.received<StopRound>(0));
    for (int node : {0, 1}) next.over(node);
    const auto end = next.received<End>(1);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->verdict.status, 143);
    EXPECT_EQ(end->verdict.reason, "SIGTERM received on head");
}

TEST(CoordinatorReplaced, a_loss_that_stops_the_round_is_still_a_loss) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.dies(2);
    ASSERT_TRUE(job.received<StopRound>(0));
    Job next = replacement_of(job);
    for (int node : {0, 1}) next.comes_back(node, 0, 3, false);
    next.over(0, false, kFailure);  // a peer of the lost node
    next.over(1);
    const auto assigned = next.received<Assigned>(0);
    ASSERT_TRUE(assigned) << "all remaining members have joined: no member needs to fence itself";
    EXPECT_EQ(assigned->restart_count, 0);
    EXPECT_EQ(next.recorded.progress.restarts.kind, "lost");
}

TEST(CoordinatorReplaced, a_member_that_succeeded_and_leaves_does_not_hold_the_adoption_up) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    Job next = replacement_of(job);
    next.comes_back(1, 0, 2, false);
    next.over(1, true);
    next.send(1, Leave{next.stamp(), Leave::Scope::node, 143, "SIGTERM received"});
    next.comes_back(0, 0, 2);
    next.over(0, true);
    const auto end = next.received<End>(0);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->verdict.status, 0);
}

TEST(CoordinatorReplaced, members_that_join_after_a_leave_has_stopped_the_round_stop_with_their_grace) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    Job next = replacement_of(job);
    next.comes_back(1, 0, 2);
    next.send(1, Leave{next.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    next.comes_back(0, 0, 2);
    EXPECT_FALSE(next.received<Refused>(0));
    EXPECT_TRUE(next.received<StopRound>(0));
    for (int node : {0, 1}) next.over(node);
    const auto end = next.received<End>(0);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->verdict.status, 143);
}

TEST(CoordinatorReplaced, a_leaver_that_dies_does_not_restart_a_round_that_ends_well) {
    Job job(1, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.over(0, true);
    job.send(1, Leave{job.stamp(), Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    job.dies(1);
    const auto end = job.received<End>(0);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->verdict.status, 0);
}

/// The successor of a fixed job's coordinator. The host of the predecessor, node 0, does not join it.
struct WithoutNode0 {
    WithoutNode0(int nodes, int max_restarts, const std::string& earlier_host)
        : job(nodes, nodes, max_restarts), next(successor_of(job)) {
        next.earlier_host = earlier_host;
        for (int node = 1; node < nodes; ++node) next.comes_back(node, 0, nodes);
    }
    Job job, next;
};

TEST(CoordinatorReplaced, a_fixed_job_without_restarts_ends_when_the_host_of_its_predecessor_is_lost) {
    for (const int nodes : {2, 3}) {
        WithoutNode0 lost(nodes, 0, "node0");
        Job& next = lost.next;
        std::vector<int> others;
        for (int node = 1; node < nodes; ++node) others.push_back(node);
        next.pass(6s, others);
        for (const int node : others) {
            EXPECT_TRUE(next.received<StopRound>(node));
            next.over(node);
        }
        const auto end = next.received<End>(1);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.status, 80);
        EXPECT_EQ(end->verdict.reason,
                  fmt::format("node0 was lost: {} of {} nodes, no spare and no restart left", nodes - 1, nodes));
    }
}

TEST(CoordinatorReplaced, a_lost_member_without_a_known_host_is_a_node) {
    for (const char* host : {"", "node1"}) {
        WithoutNode0 lost(2, 0, host);
        Job& next = lost.next;
        next.pass(6s, {1});
        next.over(1);
        const auto end = next.received<End>(1);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.reason, "a node was lost: 1 of 2 nodes, no spare and no restart left");
    }
}

TEST(CoordinatorReplaced, a_fixed_job_without_restarts_ends_when_only_a_part_of_its_fenced_nodes_joins) {
    for (const int used : {0, 1}) {
        Job job(2, 2, 1);
        Job next = successor_of(job);
        next.progress.restarts.used = used;
        next.joins_fenced(1, 0);
        next.pass(6s, {1});
        const auto end = next.received<End>(1);
        ASSERT_EQ(end.has_value(), used == 1);
        if (used == 1) {
            EXPECT_EQ(end->verdict.status, 80);
        }
    }
}

TEST(CoordinatorReplaced, fenced_nodes_that_join_in_time_begin_a_round_with_the_restarts_left) {
    Job job(2, 2, 3);
    Job next = successor_of(job);
    next.progress.restarts.used = 2;
    next.joins_fenced(0, 4), next.joins_fenced(1, 4);
    next.pass(6s, {0, 1});
    const auto again = next.received<Assigned>(1);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->restart_count, 2);
    EXPECT_EQ(again->stamp.round, 6);
}

TEST(CoordinatorReplaced, a_fixed_job_with_a_restart_or_a_spare_outlives_the_host_of_its_predecessor) {
    WithoutNode0 restarts(2, 1, "node0");
    Job& with_restart = restarts.next;
    with_restart.pass(6s, {1});
    with_restart.over(1);
    EXPECT_FALSE(with_restart.received<End>(1));
    WithoutNode0 spares(2, 0, "node0");
    Job& with_spare = spares.next;
    with_spare.join(2);
    with_spare.pass(6s, {1, 2});
    with_spare.over(1);
    EXPECT_FALSE(with_spare.received<End>(1));
    EXPECT_TRUE(with_spare.received<Assigned>(2));
}

TEST(CoordinatorReplaced, the_successor_on_the_same_host_waits_for_an_agent_that_its_guard_restarts) {
    Job job(2, 2, 0);
    for (int node : {0, 1}) job.join(node);
    Job next = replacement_of(job);
    next.comes_back(1, 0, 2);
    next.pass(6s, {1});
    next.over(1);
    EXPECT_FALSE(next.received<End>(1));
    next.join(0, 2);
    EXPECT_TRUE(next.received<Assigned>(1));
    next.pass(11s, {0, 1});
    EXPECT_EQ(next.coordinator.phase(), Coordinator::Phase::running);
}

TEST(CoordinatorReplaced, the_successor_on_the_same_host_gives_up_an_agent_that_does_not_return) {
    Job job(2, 2, 0);
    for (int node : {0, 1}) job.join(node);
    Job next = replacement_of(job);
    next.joins_fenced(1, 0);
    next.pass(14s, {1});
    EXPECT_FALSE(next.received<End>(1));
    next.pass(2s, {1});
    const auto end = next.received<End>(1);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->verdict.status, 80);
}

TEST(CoordinatorReplaced, success_in_an_earlier_round_is_none_in_the_latest) {
    Job job(1, 2, 0);
    Job next = successor_of(job);
    next.comes_back(0, 1, 2, false);  // cut off when round 2 began
    next.over(0, true);
    next.comes_back(1, 2, 2, false);
    next.over(1, true);
    EXPECT_FALSE(next.received<End>(1)) << "rank 0 of round 2 has not run";
}

TEST(CoordinatorReplaced, counts_the_age_of_a_round_from_its_beginning) {
    for (const Milliseconds age : {Milliseconds(0), Milliseconds(3'600'000)}) {
        Job job(2, 2, 5);
        for (int node : {0, 1}) job.join(node);
        job.fails(1);  // a quick round
        for (int node : {0, 1}) job.over(node);
        job.pass(1s, {0, 1});
        Job next = replacement_of(job);
        next.age = age;
        report_the_failure(next, 1);
        next.pass(1s, {0, 1});
        const auto assigned = next.received<Assigned>(0);
        ASSERT_TRUE(assigned);
        EXPECT_EQ(assigned->progress.restarts.quick_in_a_row, age > 0s ? 0 : 2);
    }
}

}  // namespace
}  // namespace dlaunch::rendezvous
