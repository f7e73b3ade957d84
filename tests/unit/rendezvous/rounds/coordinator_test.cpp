#include "rendezvous/rounds/coordinator.hpp"

#include <gtest/gtest.h>

#include "rendezvous/base/exit_status.hpp"
#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

JobConfig config(int min_nodes, int max_nodes, int max_restarts) {
    return Job::options(min_nodes, max_nodes, max_restarts);
}

TEST(Coordinator, assigns_the_ports_that_the_latest_report_names) {
    Job job(2, 2, 1);
    for (int node : {0, 1}) job.join(node);
    job.fails(1);
    job.over(1);
    job.send(0, Report{job.stamp(), Report::Phase::over, false, {}, 4711, 4712});
    job.pass(1s, {0, 1});
    const auto assigned = job.received<Assigned>(1);
    ASSERT_TRUE(assigned);
    EXPECT_EQ(assigned->stamp.round, 1);
    EXPECT_EQ(assigned->master_port, 4711);
    EXPECT_EQ(assigned->jax_port, 4712);
}

TEST(Coordinator, starts_when_all_have_joined_and_sends_each_its_own_assignment) {
    Job job(2, 2);
    job.join(1);
    EXPECT_FALSE(job.received<Assigned>(1));
    job.join(0);
    const auto first = job.received<Assigned>(0), second = job.received<Assigned>(1);
    ASSERT_TRUE(first && second);
    const JobProgress progress{{}, 2};
    EXPECT_EQ(*first,
              (Assigned{{1, 0, 77}, 0, 2, 4, {{{2, 0, 0, 4}}}, "10.0.0.0", 4000, 0, 0, "", progress, "", 5000}));
    EXPECT_EQ(*second,
              (Assigned{{1, 0, 77}, 1, 2, 4, {{{2, 2, 2, 4}}}, "10.0.0.0", 4000, 0, 0, "", progress, "", 5000}));
}

TEST(Coordinator, finished_members_receive_the_end_of_the_round_too) {
    Job job(2, 2, 1);
    job.join(0);
    job.join(1);
    job.over(0, true);
    EXPECT_FALSE(job.received<StopRound>(0));
    job.fails(1);
    EXPECT_TRUE(job.received<StopRound>(0)) << "no rank uses its store any more";
    EXPECT_FALSE(job.received<Assigned>(0)->stamp.round > 0);
    job.over(1);
    EXPECT_EQ(job.received<Assigned>(0)->stamp.round, 1);
}

TEST(Coordinator, answers_a_probe_that_never_joins) {
    Job job(2, 2);
    job.send(5, Beat{{}, 41});
    EXPECT_FALSE(job.received<Beat>(5)) << "a connection must greet before other messages";
    job.send(6, Hello{"0.1.0", "job", 1});
    job.send(6, Beat{{}, 42});
    EXPECT_EQ(job.received<Beat>(6)->number, 42U);
    EXPECT_EQ(job.coordinator.nodes(), 0U);
}

TEST(Coordinator, the_last_call_waits_for_more) {
    Job job(1, 3);
    job.join(0);
    job.pass(29'900ms, {0});
    EXPECT_FALSE(job.received<Assigned>(0));
    job.pass(200ms, {0});
    EXPECT_EQ(job.received<Assigned>(0)->group_world_size, 1);
}

TEST(Coordinator, too_few_nodes_end_with_80_and_the_number_that_joined) {
    auto options = Job::options(3, 3, 0);
    options.join_timeout = 3s;
    options.expected_hosts = {"node0", "node1", "node2"};
    Job job(options);
    job.join(0);
    job.join(2);
    job.pass(3'100ms, {0, 2});
    for (int node : {0, 2}) {
        const auto end = job.received<End>(node);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.status, 80);
        EXPECT_EQ(end->verdict.reason, "rendezvous timed out after 3 s: 2 of 3 nodes, waiting for: node1");
    }
}

/// The End message of a job of two nodes and a spare. `goes` removes the spare, node 2, before member 1 dies, so no
/// node replaces member 1.
std::optional<End> end_without(void (*goes)(Job&, int)) {
    auto options = Job::options(2, 2, 1);
    options.join_timeout = 3s;
    Job job(options);
    for (int node : {0, 1, 2}) job.join(node);
    goes(job, 2);
    job.dies(1);
    job.over(0);
    job.pass(3'100ms, {0});
    return job.received<End>(0);
}

TEST(Coordinator, waits_for_lost_members_and_counts_no_departed_spare) {
    constexpr void (*kGoes[])(Job&, int) = {[](Job& job, int node) { job.dies(node); },
                                            [](Job& job, int node) { job.hangs_up(node); }};
    for (const auto goes : kGoes) {
        const auto end = end_without(goes);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.reason, "rendezvous timed out after 3 s: 1 of 2 nodes, waiting for: node1");
    }
}

TEST(Coordinator, reports_during_the_last_call_when_the_round_starts) {
    Job job(1, 3);
    job.join(0);
    job.pass(3'100ms, {0});
    EXPECT_EQ(job.received<Notice>(0)->text, "1 of at most 3 nodes, which is enough: starting in 27 s");
}

TEST(Coordinator, reports_missing_nodes_after_three_seconds_and_every_ten) {
    Job job(2, 2);
    job.join(0);
    job.pass(3'100ms, {0});
    EXPECT_EQ(job.received<Notice>(0)->text, "1 of 2 nodes (3 s of at most 600 s)");
    job.pass(9s, {0});
    EXPECT_FALSE(job.received<Notice>(0));
    job.pass(1s, {0});
    EXPECT_EQ(job.received<Notice>(0)->text, "1 of 2 nodes (13 s of at most 600 s)");
}

TEST(Coordinator, a_failure_stops_all_and_the_next_round_waits_for_the_slowest) {
    Job job(2, 2, 3);
    job.join(0);
    job.join(1);
    job.fails(1);
    EXPECT_EQ(job.received<StopRound>(0)->reason, "rank 1 exited with 3");
    job.over(1);
    job.pass(1s, {0, 1});
    EXPECT_EQ(job.coordinator.round(), 0);
    job.over(0);
    EXPECT_EQ(job.coordinator.round(), 1);
    const auto again = job.received<Assigned>(0);
    EXPECT_EQ(again->restart_count, 1);
    EXPECT_EQ(again->restart_reason, "rank 1 exited with 3");
    EXPECT_EQ(job.received<Notice>(0)->text, "restarting all workers (restart 1 of 3)");
}

TEST(Coordinator, two_failures_in_a_round_are_one_restart_and_the_first_is_the_cause) {
    Job job(2, 2, 1);
    job.join(0);
    job.join(1);
    job.fails(1, 41);
    job.fails(0, 42);
    job.over(0), job.over(1);
    EXPECT_EQ(job.received<Assigned>(0)->restart_count, 1);
    job.fails(0, 42);
    job.fails(1, 41);
    job.over(1), job.over(0);
    EXPECT_EQ(job.received<End>(1)->verdict.status, 42);
}

TEST(Coordinator, the_end_carries_the_records_first_cause_first_to_every_node) {
    Job job(2, 2);
    job.join(0);
    job.join(1);
    job.fails(1, 41);
    job.over(0, false, Cause{9, "", "second", false, "record of 0"});
    job.over(1, false, Cause{41, "", "first", false, "record of 1"});
    for (int node : {0, 1}) {
        const auto end = job.received<End>(node);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->verdict.status, 41);
        EXPECT_EQ(end->verdict.records, (std::vector<std::string>{"record of 1", "record of 0"}));
    }
    EXPECT_FALSE(job.coordinator.finished());
    job.hangs_up(0), job.hangs_up(1);
    EXPECT_TRUE(job.coordinator.finished());
}

TEST(Coordinator, a_permanent_failure_spends_no_restart) {
    Job job(1, 1, 3);
    job.join(0);
    job.fails(0, 127, true);
    job.over(0);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 127);
}

TEST(Coordinator, success_waits_for_the_last_without_limit) {
    Job job(2, 2);
    job.join(0);
    job.join(1);
    job.over(0, true);
    job.pass(3'600s, {0, 1});
    EXPECT_FALSE(job.received<End>(0));
    job.over(1, true);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 0);
}

TEST(Coordinator, a_spare_takes_a_lost_nodes_rank_at_once_and_no_restart_is_counted) {
    Job job(2, 2);
    job.join(0), job.join(1), job.join(2);
    EXPECT_FALSE(job.received<Assigned>(2));
    job.dies(1);
    const auto stop = job.received<StopRound>(0);
    EXPECT_EQ(stop->reason, "node1 was lost");
    EXPECT_EQ(stop->lost, (LostRanks{{2, 2}}));
    job.over(0);
    const auto spare = job.received<Assigned>(2);
    ASSERT_TRUE(spare);
    EXPECT_EQ(spare->group_rank, 1);
    EXPECT_EQ(spare->restart_count, 0);
}

TEST(Coordinator, the_lost_ranks_of_a_node_with_two_contexts_need_not_be_contiguous) {
    Job job(2, 2);
    job.blocks = {{0, 1, "ps"}, {1, 2, "worker"}};
    job.join(0), job.join(1), job.join(2);
    EXPECT_EQ(job.received<Assigned>(1)->ranks, (RankLayout{{{1, 1, 1, 2}, {2, 4, 2, 4}}}));
    job.dies(1);
    EXPECT_EQ(job.received<StopRound>(0)->lost, (LostRanks{{1, 1}, {4, 2}}));
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(2)->ranks, (RankLayout{{{1, 1, 1, 2}, {2, 4, 2, 4}}})) << "the spare's";
}

TEST(Coordinator, a_loss_excuses_failures_of_its_peers) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.fails(0);
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(0)->group_world_size, 1);
    EXPECT_EQ(job.notices(0).front(), "restarting all workers, as node1 was lost");
}

TEST(Coordinator, a_loss_does_not_excuse_an_earlier_failure) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.fails(0);
    job.pass(1s, {0, 1});
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 3);
}

TEST(Coordinator, every_node_receives_the_cause_with_the_restart) {
    Job job(2, 2, 1);
    job.join(0), job.join(1), job.join(2);
    job.over(1, true);
    job.fails(0), job.over(0);
    for (int node : {0, 1, 2}) EXPECT_EQ(job.received<Notice>(node)->cause, "rank 0 exited with 3");
}

TEST(Coordinator, a_silent_node_is_lost_after_the_time_out_not_before) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.pass(4'900ms, {0});
    EXPECT_FALSE(job.received<StopRound>(0));
    job.pass(400ms, {0});
    EXPECT_EQ(job.received<StopRound>(0)->reason, "node1 was lost");
}

TEST(Coordinator, a_member_may_rejoin_after_a_broken_connection) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.received<Assigned>(1);
    job.hangs_up(1, false);
    job.pass(2s, {0});
    job.join(1);
    EXPECT_TRUE(job.received<Welcome>(1));
    EXPECT_TRUE(job.received<Assigned>(1)) << "the first Assigned may be lost";
    job.pass(4s, {0, 1});
    EXPECT_EQ(job.coordinator.round(), 0);
}

TEST(Coordinator, a_lost_incarnation_is_refused_and_the_next_is_a_newcomer) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.pass(5'500ms, {0});
    job.over(0);
    job.join(1);
    EXPECT_TRUE(job.received<Refused>(1)->rejoin);
    job.received<StopRound>(0);
    job.join(1, 2);
    EXPECT_EQ(job.received<StopRound>(0)->reason, "node1 joined");
}

TEST(Coordinator, reports_of_another_round_or_life_change_nothing) {
    Job job(1, 1, 5);
    job.join(0);
    for (const Stamp& late : {Stamp{1, -1, 1}, Stamp{1, 1, 1}, Stamp{2, 0, 1}, Stamp{1, 0, 2}})
        job.send(0, Report{late, Report::Phase::over, true, {}});
    EXPECT_EQ(job.coordinator.phase(), Coordinator::Phase::running);
}

TEST(Coordinator, another_job_or_version_is_refused_and_both_are_named) {
    Job job(1, 1);
    job.send(5, Hello{"0.1.0", "wrong", 1});
    const auto job_refused = job.received<Refused>(5);
    EXPECT_EQ(job_refused->status, 83);
    EXPECT_EQ(job_refused->reason, "this is job \"wrong\", the coordinator serves job \"job\"");
    job.send(6, Hello{"9.9", "job", 1});
    EXPECT_EQ(job.received<Refused>(6)->reason, "this is dlaunch 9.9, the coordinator is dlaunch 0.1.0");
}

TEST(Coordinator, a_spare_receives_a_line_that_it_waits) {
    Job job(2, 2);
    for (int node : {0, 1, 2}) job.join(node);
    EXPECT_EQ(job.received<Notice>(2)->text, "waiting as a spare: job \"job\" runs on 2 nodes");
}

TEST(Coordinator, a_node_with_other_options_receives_a_line_about_those_that_apply) {
    auto options = Job::options(2, 3, 1);
    options.host = "node0";
    Job job(options);
    const auto notice_for = [&](int node, std::optional<JobConfig> terms, std::uint64_t incarnation = 1) {
        job.own_config = terms;
        job.join(node, incarnation);
        const auto notice = job.received<Notice>(node);
        return notice ? notice->text : "";
    };
    EXPECT_EQ(notice_for(0, config(2, 3, 1)), "");
    EXPECT_EQ(notice_for(1, config(2, 2, 1)),
              "this node has --nnodes=2; the job runs with --nnodes=2:3 of node0, which hosts the coordinator");
    EXPECT_EQ(notice_for(1, config(2, 2, 1), 2), "") << "once is enough";
    JobConfig third = config(1, 3, 4);
    third.relays_store = true;
    EXPECT_EQ(notice_for(2, third),
              "this node has --nnodes=1:3 --max-restarts=4 --store=relay; the job runs with --nnodes=2:3 "
              "--max-restarts=1 --store=open of node0, which hosts the coordinator");
}

TEST(Coordinator, where_ranks_are_fixed_a_node_with_a_taken_rank_is_refused) {
    Coordinator::Options options = Job::options(2, 2, 0);
    options.fixed_ranks = true;
    Job job(options);
    job.join(0, 1, 0);
    job.join(1, 1, 1);
    ASSERT_TRUE(job.received<Assigned>(1));
    job.join(2, 1, 1);
    const auto refused = job.received<Refused>(2);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, exit_status::kRefused);
    EXPECT_EQ(refused->reason, "node rank 1 is node1's, expected another --node-rank, or another port for another job");
    job.hangs_up(1, false);
    job.join(3, 1, 1);  // its successor, perhaps
    EXPECT_FALSE(job.received<Refused>(3));
}

TEST(Coordinator, a_spare_ends_with_the_job) {
    Job job(1, 1);
    job.join(0), job.join(1);
    job.over(0, true);
    EXPECT_EQ(job.received<End>(1)->verdict.status, 0);
}

TEST(Coordinator, a_newcomer_waits_unless_scale_up_is_immediate) {
    for (auto policy : {ScaleUp::on_restart, ScaleUp::never}) {
        auto options = Job::options(1, 2, 1);
        options.last_call = 0ms;
        options.scale_up = policy;
        Job job(options);
        job.join(0), job.join(1);
        EXPECT_FALSE(job.received<StopRound>(0));
        job.fails(0);
        job.over(0);
        EXPECT_EQ(job.received<Assigned>(0)->group_world_size, policy == ScaleUp::never ? 1 : 2);
    }
}

TEST(Coordinator, a_frozen_coordinator_evicts_no_node_for_its_own_silence) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.now += 60s;
    job.coordinator.tick(job.now);
    job.listen();
    EXPECT_FALSE(job.received<StopRound>(0));
}

TEST(Coordinator, no_line_about_missing_nodes_is_sent_during_a_pause) {
    auto options = Job::options(2, 2, 9);
    options.restarts.first = options.restarts.most = 25s;
    Job job(options);
    job.join(0), job.join(1);
    for (int round = 0; round < 2; ++round) {
        job.fails(0);
        job.over(0), job.over(1);
    }
    EXPECT_TRUE(job.received<Notice>(0)) << "that it restarts in 25 s";
    job.pass(20s, {0, 1});
    EXPECT_EQ(job.coordinator.phase(), Coordinator::Phase::gathering);
    EXPECT_FALSE(job.received<Notice>(0));
    job.dies(1);
    job.pass(10s, {0});
    EXPECT_TRUE(job.received<Notice>(0)->text.starts_with("1 of 2 nodes, waiting for: node1 ("));
}

}  // namespace
}  // namespace dlaunch::rendezvous
