/// Leaves, newcomers and cool-downs while a successor adopts the round of its predecessor.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

const Leave kSigterm{{}, Leave::Scope::node_if_enough, 143, "SIGTERM received"};

Leave leave_of(const Job& job, Leave leave = kSigterm) {
    leave.stamp = job.stamp();
    return leave;
}

/// Of 2 to 4 nodes.
Coordinator::Options elastic() {
    auto options = Job::options(2, 4, 1);
    options.last_call = 1s;
    return options;
}

/// Nodes 0 to `nodes` - 1 run round 0.
struct ElasticJob : Job {
    explicit ElasticJob(int nodes) : Job(elastic()) {
        std::vector<int> all;
        for (int node = 0; node < nodes; ++node) {
            join(node);
            all.push_back(node);
        }
        pass(1100ms, all);
        EXPECT_EQ(coordinator.round(), 0);
    }
};

TEST(CoordinatorAdoption, a_leave_before_all_members_have_joined_takes_only_its_node) {
    for (const bool stops_first : {false, true}) {
        ElasticJob job(3);
        Job next = replacement_of(job);
        next.comes_back(1, 0, 3);
        next.send(1, leave_of(next));
        if (stops_first) next.over(1);
        EXPECT_FALSE(next.received<StopRound>(1)) << "two more members may be there";
        EXPECT_FALSE(next.received<End>(1));
        for (int node : {0, 2}) next.comes_back(node, 0, 3);
        for (int node : {0, 2}) EXPECT_EQ(next.received<StopRound>(node)->reason, "SIGTERM received on node1");
        if (!stops_first) next.over(1);
        EXPECT_EQ(next.received<End>(1)->verdict.status, 143);
        for (int node : {0, 2}) next.over(node);
        for (int node : {0, 2}) EXPECT_EQ(next.received<Assigned>(node)->group_world_size, 2);
    }
}

TEST(CoordinatorAdoption, a_leave_that_too_few_nodes_outlive_ends_the_job_at_the_deadline) {
    ElasticJob job(2);
    Job next = replacement_of(job);
    next.comes_back(1, 0, 2);
    next.send(1, leave_of(next));
    next.pass(5'100ms, {1});
    EXPECT_TRUE(next.received<StopRound>(1));
    next.over(1);
    EXPECT_EQ(next.received<End>(1)->verdict.reason, "SIGTERM received on node1: too few nodes are left, the job ends");
}

TEST(CoordinatorAdoption, a_leave_while_a_stopped_round_is_adopted_waits_for_all_members) {
    ElasticJob job(3);
    job.fails(2);
    Job next = replacement_of(job);
    next.comes_back(1, 0, 3, false);
    next.over(1);
    next.send(1, leave_of(next));
    for (int node : {0, 2}) next.comes_back(node, 0, 3, false);
    next.over(2, false, Cause{3, "kind", "rank 2 exited with 3", false, ""});
    EXPECT_FALSE(next.received<End>(1)) << "node 0 has not told of its workers' end";
    next.over(0);
    EXPECT_EQ(next.received<End>(1)->verdict.status, 143);
    EXPECT_EQ(next.received<Assigned>(0)->group_world_size, 2);
}

TEST(CoordinatorAdoption, a_leave_of_a_fixed_job_ends_it_at_once) {
    Job job(2, 2);
    for (int node : {0, 1}) job.join(node);
    Job next = replacement_of(job);
    next.comes_back(1, 0, 2);
    next.send(1, leave_of(next));
    EXPECT_EQ(next.received<StopRound>(1)->signal, 15);
    next.comes_back(0, 0, 2);
    EXPECT_EQ(next.received<StopRound>(0)->signal, 15);
    for (int node : {0, 1}) next.over(node);
    for (int node : {0, 1}) EXPECT_EQ(next.received<End>(node)->verdict.status, 143);
}

TEST(CoordinatorAdoption, a_leaving_spare_costs_a_fixed_job_nothing) {
    Job job(2, 2);
    for (int node : {0, 1, 2}) job.join(node);
    Job next = replacement_of(job);
    next.joins_fenced(2, 0);
    next.send(2, Leave{{2, 0, 2}, Leave::Scope::node_if_enough, 143, "SIGTERM received"});
    for (int node : {0, 1}) next.comes_back(node, 0, 2);
    EXPECT_EQ(next.received<End>(2)->verdict.status, 143);
    for (int node : {0, 1}) EXPECT_FALSE(next.received<StopRound>(node));
}

TEST(CoordinatorAdoption, no_new_round_begins_where_a_member_has_finished_and_tells_of_it_last) {
    for (const bool with_leave : {false, true}) {
        ElasticJob job(3);
        job.over(2, true);
        job.join(3);
        Job next = replacement_of(job);
        next.joins_fenced(3, 0);
        next.comes_back(1, 0, 3);
        if (with_leave) next.send(1, leave_of(next));
        next.comes_back(0, 0, 3);
        next.comes_back(2, 0, 3, false);
        next.over(2, true);
        next.pass(3s, {0, 1, 2, 3});
        EXPECT_FALSE(next.received<StopRound>(0)) << with_leave;
        next.over(0, true);
        next.over(1, !with_leave);
        EXPECT_EQ(next.received<End>(0)->verdict.status, 0);
        EXPECT_EQ(next.received<End>(1)->verdict.status, with_leave ? 143 : 0);
    }
}

TEST(CoordinatorAdoption, a_newcomer_that_waited_is_admitted_by_the_successor) {
    for (const bool joins_first : {false, true}) {
        ElasticJob job(2);
        job.join(3);
        Job next = replacement_of(job);
        if (joins_first) next.joins_fenced(3, 0);
        for (int node : {0, 1}) next.comes_back(node, 0, 2);
        if (!joins_first) next.joins_fenced(3, 0);
        EXPECT_EQ(next.coordinator.phase(), Coordinator::Phase::running);
        next.pass(1100ms, {0, 1, 3});
        for (int node : {0, 1}) EXPECT_EQ(next.received<StopRound>(node)->reason, "node3 joined");
    }
}

TEST(CoordinatorAdoption, a_newcomer_that_was_cut_off_at_its_last_call_waits_anew) {
    ElasticJob job(2);
    job.join(3);
    job.hangs_up(3, false);
    job.pass(1100ms, {0, 1});
    EXPECT_FALSE(job.received<StopRound>(0));
    job.join(3);
    job.pass(1100ms, {0, 1, 3});
    EXPECT_EQ(job.received<StopRound>(0)->reason, "node3 joined");
}

TEST(CoordinatorAdoption, cool_downs_reach_a_successor_on_another_node) {
    ElasticJob job(3);
    for (std::uint64_t loss = 1; loss <= 3; ++loss) {
        job.dies(2);
        for (int node : {0, 1}) job.over(node);
        job.pass(1s, {0, 1});  // a pause after quick losses
        if (loss == 3) break;
        job.join(2, loss + 1);
        job.pass(1100ms, {0, 1, 2});
        for (int node : {0, 1}) job.over(node);
        job.pass(1s, {0, 1, 2});
    }
    const auto latest = job.received<Assigned>(0);
    ASSERT_TRUE(latest);
    ASSERT_EQ(latest->progress.losses.size(), 1U);
    EXPECT_EQ(latest->progress.losses[0].host, "node2");
    EXPECT_EQ(latest->progress.losses[0].ages_ms.size(), 3U);

    Job next = successor_of(job);
    next.joins_fenced(2, latest->stamp.round);  // before any member reports losses
    next.progress = latest->progress;
    for (int node : {0, 1}) next.comes_back(node, latest->stamp.round, 2);
    const auto told = next.received<Notice>(2);
    ASSERT_TRUE(told);
    EXPECT_TRUE(told->text.starts_with("node2 was lost 3 times within ten minutes: admitted in 10 s")) << told->text;
    next.pass(5s, {0, 1, 2});
    EXPECT_FALSE(next.received<StopRound>(0));
    next.pass(7s, {0, 1, 2});
    EXPECT_EQ(next.received<StopRound>(0)->reason, "node2 joined");
}

TEST(CoordinatorAdoption, a_removed_member_does_not_stand_for_one_that_is_missing) {
    Job job(3, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.pass(5'100ms, {0, 1});  // node 2 is evicted, the round is being stopped
    EXPECT_TRUE(job.received<StopRound>(0));
    Job next = replacement_of(job);
    next.comes_back(0, 0, 3, false);
    next.over(0);
    next.comes_back(2, 0, 3, false);
    EXPECT_TRUE(next.received<Refused>(2)->rejoin);
    next.joins_fenced(2, 0);
    next.join(3);
    next.pass(1s, {0, 2, 3});
    EXPECT_FALSE(next.received<Assigned>(0)) << "workers of node 1 may live";
    next.comes_back(1, 0, 3);
    next.over(1);
    EXPECT_TRUE(next.received<Assigned>(0));
}

TEST(CoordinatorAdoption, a_finished_member_that_is_gone_is_not_waited_for) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    job.over(2, true);
    job.dies(2);
    Job next = replacement_of(job);
    for (int node : {0, 1}) next.comes_back(node, 0, 3);
    EXPECT_EQ(next.coordinator.phase(), Coordinator::Phase::running);
    for (int node : {0, 1}) next.over(node, true);
    for (int node : {0, 1}) EXPECT_EQ(next.received<End>(node)->verdict.status, 0);
}

/// The failure is known to a coordinator that dies before it could act on it.
TEST(CoordinatorAdoption, a_failed_member_that_is_gone_has_not_finished) {
    Job job(1, 3, 1);
    for (int node : {0, 1, 2}) job.join(node);
    Job second = replacement_of(job);
    second.comes_back(2, 0, 3, false);
    second.fails(2);
    second.over(2);
    second.dies(2);
    Job third = replacement_of(second);
    for (int node : {0, 1}) third.comes_back(node, 0, 3);
    for (int node : {0, 1}) third.over(node, true);
    third.pass(6s, {0, 1});
    EXPECT_FALSE(third.received<End>(0));
    EXPECT_EQ(third.coordinator.phase(), Coordinator::Phase::running);
    EXPECT_EQ(third.coordinator.round(), 1);
}

TEST(CoordinatorAdoption, the_signal_that_ends_the_job_goes_to_all_workers) {
    for (const int status : {130, 143, 124}) {
        Job job(2, 2, 1);
        for (int node : {0, 1}) job.join(node);
        job.send(1, leave_of(job, {{}, Leave::Scope::job, status, "the reason"}));
        EXPECT_EQ(job.received<StopRound>(0)->signal, status > 128 ? status - 128 : 0);
    }
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.fails(1);
    EXPECT_EQ(job.received<StopRound>(0)->signal, 0);
}

/// The claim was lost, and another coordinator has begun a round in between.
TEST(CoordinatorAdoption, no_round_starts_while_workers_of_a_foreign_one_may_live) {
    auto options = Job::options(1, 1, 0);
    options.epoch = 2;
    Job job(options);
    job.comes_back(0, 0, 2);
    EXPECT_TRUE(job.received<Refused>(0)->rejoin);
    job.join(1);
    job.pass(4'900ms, {1});
    EXPECT_FALSE(job.received<Assigned>(1));
    job.pass(200ms, {1});
    EXPECT_TRUE(job.received<Assigned>(1));
}

}  // namespace
}  // namespace dlaunch::rendezvous
