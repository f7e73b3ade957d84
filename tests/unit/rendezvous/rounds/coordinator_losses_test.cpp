/// Pauses, cool-downs and verdicts after losses.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(CoordinatorLosses, a_node_that_is_lost_again_and_again_ends_in_93_which_names_it) {
    auto options = Job::options(1, 2, 0);
    options.restarts.crash_loop = 4;
    options.cooldown.first = 0ms;
    Job job(options);
    job.join(0), job.join(1);
    int rounds = 0;
    for (std::uint64_t incarnation = 2; job.coordinator.phase() != Coordinator::Phase::over; ++incarnation) {
        ASSERT_LE(++rounds, 5);
        job.dies(1);
        job.over(0);
        job.pass(1s, {0});
        job.join(1, incarnation);
        job.over(0);
        job.pass(1s, {0});
    }
    const auto end = job.received<End>(0);
    EXPECT_EQ(end->verdict.status, 93);
    EXPECT_EQ(end->verdict.reason,
              "gave up: each of the last 4 rounds lost a node soon after its start; the latest lost node: node1");
}

TEST(CoordinatorLosses, all_are_told_with_which_nodes_the_job_goes_on) {
    Job job(1, 2);
    for (int node : {0, 1, 2}) job.join(node);
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.notices(0).back(), "going on with 2 nodes, node2 in place of node1");
    job.dies(2);
    job.over(0);
    job.pass(1s, {0});
    EXPECT_EQ(job.notices(0).back(), "going on with 1 node, without node2");
}

TEST(CoordinatorLosses, of_nodes_with_one_console_the_first_that_is_left_is_told) {
    auto options = Job::options(1, 3, 0);
    options.one_console = true;
    Job job(options);
    for (int node : {0, 1, 2}) job.join(node);
    job.dies(0);
    job.over(1), job.over(2);
    const auto told = job.notices(2);  // it has rank 0 now, as node1 keeps rank 1
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), "going on with 2 nodes, without node0");
    EXPECT_TRUE(job.notices(1).empty());
    job.dies(2);
    job.over(1);
    job.pass(1s, {1});
    const auto left = job.notices(1);
    ASSERT_FALSE(left.empty());
    EXPECT_EQ(left.back(), "going on with 1 node, without node2");
}

TEST(CoordinatorLosses, quick_losses_pause) {
    auto options = Job::options(1, 3, 0);
    options.restarts.first = options.restarts.most = 1s;
    Job job(options);
    for (int node : {0, 1, 2}) job.join(node);
    job.dies(1);
    job.over(0), job.over(2);
    EXPECT_EQ(job.received<Assigned>(0)->group_world_size, 2) << "the first at once";
    job.dies(2);
    job.over(0);
    EXPECT_FALSE(job.received<Assigned>(0));
    EXPECT_EQ(job.received<Notice>(0)->text, "restarting all workers in 1.0 s, as node2 was lost");
    job.pass(1'100ms, {0});
    EXPECT_EQ(job.received<Assigned>(0)->group_world_size, 1);
}

TEST(CoordinatorLosses, a_silent_node_is_counted_to_its_last_message) {
    auto options = Job::options(1, 2, 0);
    options.restarts.healthy = 3s;
    options.restarts.crash_loop = 1;
    Job job(options);
    job.join(0), job.join(1);
    job.pass(2s, {0, 1});
    job.pass(5'300ms, {0});  // detected after 7 s
    job.over(0);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 93);
}

TEST(CoordinatorLosses, a_host_lost_three_times_in_ten_minutes_waits_for_its_cool_down_as_a_spare) {
    auto options = Job::options(1, 2, 0);
    options.restarts.healthy = 0ms;  // only the cool-down is looked at
    Job job(options);
    job.join(0), job.join(1);
    for (std::uint64_t incarnation = 2; incarnation <= 4; ++incarnation) {
        job.dies(1);
        job.over(0);
        job.received<StopRound>(0), job.received<Notice>(1);
        job.join(1, incarnation);
        EXPECT_EQ(job.received<StopRound>(0).has_value(), incarnation < 4);
        if (incarnation < 4) job.over(0);
    }
    EXPECT_EQ(job.received<Notice>(1)->text, "node1 was lost 3 times within ten minutes: admitted in 10 s");
    job.pass(9'800ms, {0, 1});
    EXPECT_FALSE(job.received<StopRound>(0));
    job.pass(300ms, {0, 1});
    EXPECT_EQ(job.received<StopRound>(0)->reason, "node1 joined");
}

TEST(CoordinatorLosses, a_fixed_job_waits_for_the_cool_down) {
    auto options = Job::options(2, 2, 9);
    options.restarts.healthy = 0ms;
    Job job(options);
    job.join(0), job.join(1);
    for (std::uint64_t incarnation = 2; incarnation <= 4; ++incarnation) {
        job.dies(1);
        job.over(0);
        job.received<Assigned>(0);
        job.join(1, incarnation);
    }
    EXPECT_FALSE(job.received<Assigned>(0));
    job.pass(10'100ms, {0, 1});
    EXPECT_TRUE(job.received<Assigned>(0));
}

TEST(CoordinatorLosses, a_fixed_job_without_spare_and_restart_ends_with_80_and_names_the_node) {
    Job job(3, 3);
    for (int node : {0, 1, 2}) job.join(node);
    job.fails(0);  // a failure caused by the loss, reported before it
    job.dies(2);
    job.over(0), job.over(1);
    for (int node : {0, 1}) {
        const auto end = job.received<End>(node);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.status, 80);
        EXPECT_EQ(end->verdict.reason, "node2 was lost: 2 of 3 nodes, no spare and no restart left");
    }
}

TEST(CoordinatorLosses, a_closed_job_without_spare_ends_with_80_though_restarts_are_left) {
    for (const int least : {3, 2}) {
        auto options = Job::options(3, 3, 5);
        options.min_nodes = least;
        options.more_hosts = MoreHosts::none;
        Job job(options);
        for (int node : {0, 1, 2}) job.join(node);
        job.dies(2);
        job.over(0), job.over(1);
        const bool is_enough = least == 2;
        if (is_enough) {
            EXPECT_FALSE(job.received<End>(0));
            job.dies(1);
            job.over(0);
        }
        const auto end = job.received<End>(0);
        ASSERT_TRUE(end) << least;
        EXPECT_EQ(end->verdict.status, 80);
        EXPECT_EQ(end->verdict.reason, is_enough ? "node1 was lost: 1 of 2 nodes, no spare left"
                                                 : "node2 was lost: 2 of 3 nodes, no spare left");
    }
}

TEST(CoordinatorLosses, a_host_that_has_not_joined_yet_may_replace_a_lost_one) {
    auto options = Job::options(2, 2, 0);
    options.more_hosts = MoreHosts::awaited;
    Job joins(options);
    joins.join(0), joins.join(1);
    joins.dies(1);
    joins.over(0);
    joins.pass(60s, {0});
    EXPECT_FALSE(joins.received<End>(0));
    joins.join(2);
    joins.no_more_hosts();
    EXPECT_TRUE(joins.received<Assigned>(2));
    EXPECT_FALSE(joins.received<End>(0));

    Job fails(options);
    fails.join(0), fails.join(1);
    fails.dies(1);
    fails.no_more_hosts();
    EXPECT_FALSE(fails.received<End>(0)) << "a worker lives";
    fails.over(0);
    EXPECT_EQ(fails.received<End>(0)->verdict.reason, "node1 was lost: 1 of 2 nodes, no spare and no restart left");

    Job fails_late(options);
    fails_late.join(0), fails_late.join(1);
    fails_late.dies(1);
    fails_late.over(0);
    fails_late.no_more_hosts();
    EXPECT_EQ(fails_late.received<End>(0)->verdict.status, 80);
}

TEST(CoordinatorLosses, the_last_awaited_host_ends_no_running_round) {
    auto options = Job::options(2, 2, 0);
    options.more_hosts = MoreHosts::awaited;
    Job job(options);
    job.join(0), job.join(1);
    job.over(1, true);
    job.dies(1);
    job.no_more_hosts();
    EXPECT_FALSE(job.received<End>(0)) << "node 1 had finished";
    EXPECT_FALSE(job.received<StopRound>(0));
}

TEST(CoordinatorLosses, a_failure_long_before_the_loss_keeps_its_status) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.fails(0, 7);
    job.pass(1s, {0, 1});
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 7);
}

TEST(CoordinatorLosses, a_spare_a_restart_or_a_returning_agent_keeps_the_job_running) {
    Job spare(2, 2);
    for (int node : {0, 1, 2}) spare.join(node);
    spare.dies(1);
    spare.over(0);
    EXPECT_TRUE(spare.received<Assigned>(2));

    Job restart(2, 2, 1);
    restart.join(0), restart.join(1);
    restart.dies(1);
    restart.over(0);
    restart.pass(60s, {0});
    EXPECT_FALSE(restart.received<End>(0));
    restart.join(2);
    EXPECT_EQ(restart.received<Assigned>(0)->restart_count, 0) << "the loss spent none";

    Job returns(2, 2);
    returns.join(0), returns.join(1);
    returns.dies(1, true);
    returns.over(0);
    returns.pass(5s, {0});
    EXPECT_FALSE(returns.received<End>(0));
    returns.join(1, 2);
    EXPECT_TRUE(returns.received<Assigned>(1));
    returns.dies(1, true);
    returns.over(0);
    returns.pass(10'100ms, {0});
    EXPECT_EQ(returns.received<End>(0)->verdict.status, 80) << "it did not";
}

TEST(CoordinatorLosses, a_crash_loop_is_counted_to_the_cause_and_by_kind) {
    auto options = Job::options(2, 2, 9);
    options.restarts.crash_loop = 2;
    Job job(options);
    job.join(0), job.join(1);
    for (int round = 0; round < 2; ++round) {
        const int culprit = round;
        job.send(culprit, Report{job.stamp(), Report::Phase::failed, false, Cause{7, "0 7 0", "it exited", false, ""}});
        job.over(culprit);
        job.pass(30s, {0, 1});  // the other takes its whole grace
        job.over(1 - culprit);
    }
    EXPECT_EQ(job.received<End>(0)->verdict.status, 93);
}

}  // namespace
}  // namespace dlaunch::rendezvous
