/// A coordinator that is replaced, and its successor.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

Coordinator::Options successor(int min_nodes = 2, int max_nodes = 2, int max_restarts = 3) {
    auto options = Job::options(min_nodes, max_nodes, max_restarts);
    options.epoch = 2;
    options.incarnation = 78;
    options.succeeds = true;
    return options;
}

Coordinator::Options with_record_of(const Job& job) {
    auto options = successor();
    options.snapshot = job.recorded;
    return options;
}

// --- its own lease --------------------------------------------------------------------------------------------------

TEST(CoordinatorSuccession, past_the_end_of_its_lease_it_answers_nothing_and_closes) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.coordinator.granted(job.now + 3s);
    job.pass(2'900ms, {0, 1});
    EXPECT_TRUE(job.received<Beat>(0));
    job.now += 200ms;
    job.send(0, Beat{job.stamp(), 7});
    EXPECT_FALSE(job.received<Beat>(0)) << "no lease may be renewed";
    EXPECT_TRUE(job.coordinator.deposed());
    EXPECT_TRUE(job.closed.contains(Job::connection_of(1)));
    job.closed.clear();
    job.send(5, Hello{"0.1.0", "job", 1});
    EXPECT_TRUE(job.closed.contains(Job::connection_of(5)));
    EXPECT_EQ(job.coordinator.deadline(), kNever);
    job.coordinator.granted(job.now + 60s);
    EXPECT_TRUE(job.coordinator.deposed()) << "for good";
}

TEST(CoordinatorSuccession, a_lease_that_is_renewed_goes_on) {
    Job job(1, 1);
    job.join(0);
    for (int n = 0; n < 10; ++n) {
        job.coordinator.granted(job.now + 3s);
        job.pass(2s, {0});
    }
    EXPECT_FALSE(job.coordinator.deposed());
}

TEST(CoordinatorSuccession, with_a_claim_but_without_members_it_resigns) {
    Job job(1, 1);
    job.join(0);
    job.coordinator.granted(job.now + 60s);
    job.pass(4'900ms);
    EXPECT_FALSE(job.coordinator.deposed());
    job.pass(300ms);
    EXPECT_TRUE(job.coordinator.deposed()) << "members may reach another one";
}

TEST(CoordinatorSuccession, a_higher_epoch_deposes_it) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.comes_back(2, 3, 2, true, 9);
    EXPECT_TRUE(job.coordinator.deposed());
    EXPECT_EQ(job.coordinator.highest_epoch(), 9U);
    EXPECT_FALSE(job.received<StopRound>(0)) << "the members that it still has are another one's";
    EXPECT_FALSE(job.received<Welcome>(2) || job.received<Refused>(2));
}

TEST(CoordinatorSuccession, a_member_of_another_coordinator_of_the_same_epoch_is_refused) {
    Job job(2, 2);
    job.comes_back(0, 3, 2, true, 1);
    EXPECT_TRUE(job.received<Refused>(0)->rejoin);
}

TEST(CoordinatorSuccession, resigns_with_its_snapshot_and_closes) {
    Job job(2, 2, 5);
    job.join(0), job.join(1);
    job.recorded = {};
    job.coordinator.resign(job.now);
    job.listen();
    EXPECT_EQ(job.recorded.round, 0);
    EXPECT_EQ(job.recorded.config.restarts.max_restarts, 5);
    EXPECT_TRUE(job.coordinator.deposed());
    EXPECT_TRUE(job.closed.contains(Job::connection_of(0)) && job.closed.contains(Job::connection_of(1)));
    EXPECT_FALSE(job.received<StopRound>(0) || job.received<End>(0));
}

TEST(CoordinatorSuccession, the_operator_ends_the_job_everywhere) {
    Job job(2, 3);
    job.join(0), job.join(1), job.join(2);
    job.coordinator.end_job(job.now, 143, "SIGTERM received by the coordinator");
    job.listen();
    EXPECT_FALSE(job.received<StopRound>(1)->at_once);
    job.coordinator.end_job(job.now, 143, "SIGTERM received by the coordinator", true);
    job.listen();
    EXPECT_TRUE(job.received<StopRound>(1)->at_once);
    for (int node : {0, 1, 2}) job.over(node);
    EXPECT_EQ(job.received<End>(1)->verdict.status, 143);
}

// --- adoption -------------------------------------------------------------------------------------------------------

TEST(CoordinatorSuccession, a_round_is_adopted_as_soon_as_all_members_join) {
    Job job(successor());
    job.progress = {{.used = 1}, 2};
    job.comes_back(0, 4, 2), job.comes_back(1, 4, 2);
    EXPECT_EQ(job.coordinator.phase(), Coordinator::Phase::running);
    EXPECT_EQ(job.coordinator.round(), 4);
    EXPECT_FALSE(job.received<Assigned>(0) || job.received<StopRound>(0)) << "no worker is touched";
    job.over(0, true), job.over(1, true);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 0);
}

TEST(CoordinatorSuccession, the_members_supply_the_options_of_the_job) {
    Job job(successor(1, 1, 0));
    job.job = Job::options(2, 4, 7);
    job.job->node_timeout = 12s;
    job.progress = {{.used = 3}, 2};
    job.comes_back(0, 4, 2), job.comes_back(1, 4, 2);
    EXPECT_EQ(job.coordinator.config(), *job.job) << "its own count for nothing";
    EXPECT_EQ(job.received<Welcome>(1)->job.node_timeout, 12s);
    job.fails(0);
    job.over(0), job.over(1);
    job.pass(13s, {0, 1});
    EXPECT_EQ(job.received<Assigned>(0)->restart_count, 4);
    EXPECT_EQ(job.received<Assigned>(1)->max_restarts, 7);
}

TEST(CoordinatorSuccession, no_new_round_starts_before_unseen_members_must_have_fenced) {
    Job job(successor());
    for (int node : {0, 1}) {  // both have ended round 4; a third may run round 5 by now
        job.comes_back(node, 4, 2, false);
        job.over(node);
    }
    job.pass(4'900ms, {0, 1});
    EXPECT_FALSE(job.received<Assigned>(0));
    job.pass(300ms, {0, 1});
    const auto next = job.received<Assigned>(0);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->stamp.round, 6) << "5 may have been used";
}

TEST(CoordinatorSuccession, a_longer_time_out_of_the_members_holds) {
    Job job(successor());
    job.job = Job::options(2, 2, 3);
    job.job->node_timeout = 10s;
    for (int node : {0, 1}) {
        job.comes_back(node, 4, 2, false);
        job.over(node);
    }
    job.pass(9'800ms, {0, 1});
    EXPECT_FALSE(job.received<Assigned>(0));
    job.pass(400ms, {0, 1});
    EXPECT_TRUE(job.received<Assigned>(0));
}

TEST(CoordinatorSuccession, an_incomplete_round_is_stopped_at_the_deadline) {
    Job job(successor(1, 2));
    job.comes_back(0, 4, 2);
    job.pass(4'900ms, {0});
    EXPECT_FALSE(job.received<StopRound>(0));
    job.pass(300ms, {0});
    EXPECT_TRUE(job.received<StopRound>(0));
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(0)->restart_count, 0) << "no restart is spent";
}

// --- recorded decisions ---------------------------------------------------------------------------------------------

TEST(CoordinatorSuccession, decisions_are_recorded_before_any_member_is_informed) {
    Job job(2, 2, 1);
    job.join(0), job.join(1);
    /// The last member reports the end of its workers: the coordinator decides, first on a restart, then on the end.
    for (const bool is_end : {false, true}) {
        job.fails(0);
        job.over(0);
        job.coordinator.received(job.now, Job::connection_of(1), Report{job.stamp(), Report::Phase::over, false, {}});
        const auto actions = job.coordinator.take_actions();
        ASSERT_FALSE(actions.empty());
        const auto* record = std::get_if<Coordinator::Record>(&actions.front());
        ASSERT_TRUE(record);
        EXPECT_EQ(record->snapshot.progress.restarts.used, 1);
        EXPECT_EQ(record->snapshot.verdict.has_value(), is_end);
    }
}

TEST(CoordinatorSuccession, a_recorded_verdict_is_sent_to_every_member) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.fails(0, 9);
    job.over(0), job.over(1);
    Job next(with_record_of(job));
    next.comes_back(1, 0, 2);
    EXPECT_EQ(next.received<End>(1)->verdict.status, 9);
    EXPECT_FALSE(next.coordinator.finished());
    next.pass(6s);
    EXPECT_TRUE(next.coordinator.finished());
}

TEST(CoordinatorSuccession, a_failure_that_was_judged_is_not_counted_again) {
    auto options = Job::options(2, 2, 3);
    options.restarts.first = options.restarts.most = 2s;
    Job job(options);
    job.join(0), job.join(1);
    for (int round = 0; round < 2; ++round) {
        job.fails(0);
        job.over(0), job.over(1);
    }
    ASSERT_EQ(job.coordinator.phase(), Coordinator::Phase::gathering) << "it pauses";
    Job next(with_record_of(job));
    for (int node : {0, 1}) {
        next.comes_back(node, 1, 2, false);
        next.over(node, false, Cause{3, "kind", "rank 0 exited with 3", false, ""});
    }
    next.pass(2'100ms, {0, 1});
    const auto again = next.received<Assigned>(0);
    ASSERT_TRUE(again) << "no worker lives, so there is nothing to wait for";
    EXPECT_EQ(again->restart_count, 2);
    EXPECT_EQ(again->stamp.round, 2);
}

TEST(CoordinatorSuccession, a_recorded_round_is_never_restarted) {
    Job job(1, 2);
    job.join(0), job.join(1);
    ASSERT_EQ(job.recorded.round, 0);
    auto options = with_record_of(job);
    Job next(options);
    next.comes_back(0, -1, 2, false);  // it was not informed of round 0
    next.pass(4'900ms, {0});
    EXPECT_FALSE(next.received<Assigned>(0)) << "node 1 may run round 0";
    next.pass(300ms, {0});
    EXPECT_EQ(next.received<Assigned>(0)->stamp.round, 1);
}

TEST(CoordinatorSuccession, a_number_that_any_member_reports_is_not_used_again) {
    Job first(successor(1, 1));  // it knows nothing, and records that
    auto options = successor(1, 1);
    options.epoch = 3;
    options.snapshot = first.recorded;
    Job job(options);
    job.pass(5'100ms);
    job.comes_back(0, 7, 2, false, 2);
    EXPECT_GT(job.received<Assigned>(0)->stamp.round, 7);
}

TEST(CoordinatorSuccession, all_members_have_time_to_join_before_a_smaller_world_starts) {
    auto options = Job::options(1, 3, 1);
    Job job(options);
    for (int node : {0, 1, 2}) job.join(node);
    job.fails(0);
    for (int node : {0, 1, 2}) job.over(node);
    auto record = job.recorded;
    record.round_over = true;
    auto next_options = with_record_of(job);
    next_options.snapshot = record;
    Job next(next_options);
    next.comes_back(0, 1, 3, false);
    EXPECT_FALSE(next.received<Assigned>(0));
    next.comes_back(1, 1, 3, false), next.comes_back(2, 1, 3, false);
    EXPECT_EQ(next.received<Assigned>(0)->group_world_size, 3);
}

}  // namespace
}  // namespace dlaunch::rendezvous
