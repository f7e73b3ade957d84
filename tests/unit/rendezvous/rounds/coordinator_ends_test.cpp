/// Cuts and losses of connections, and the delivery of the End message.

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(CoordinatorEnds, a_connection_that_closes_in_order_is_a_cut) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.hangs_up(1);
    job.pass(4'800ms, {0});
    EXPECT_FALSE(job.received<StopRound>(0)) << "a proxy may have been restarted";
    job.join(1);
    EXPECT_TRUE(job.received<Welcome>(1));
    job.pass(10s, {0, 1});
    EXPECT_EQ(job.coordinator.round(), 0);
}

TEST(CoordinatorEnds, a_member_that_greets_again_loses_its_connection_only) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.send(1, Hello{"0.1.0", "another", 1});
    EXPECT_TRUE(job.closed.contains(Job::connection_of(1)));
    EXPECT_TRUE(job.coordinator.is_consistent());
    job.hangs_up(1);
    job.join(1);
    EXPECT_TRUE(job.received<Welcome>(1));
    EXPECT_EQ(job.coordinator.round(), 0);
}

TEST(CoordinatorEnds, a_last_call_that_is_over_while_a_node_is_cut_off_does_not_spin) {
    auto options = Job::options(1, 3, 0);
    options.last_call = 1s;
    Job job(options);
    job.join(0), job.join(1);
    job.hangs_up(1);
    job.pass(1'500ms, {0});
    EXPECT_FALSE(job.received<Assigned>(0)) << "node 1 may rejoin";
    EXPECT_GT(job.coordinator.deadline(), job.now);
}

TEST(CoordinatorEnds, a_gone_message_counts_as_a_loss) {
    Job job(1, 2);
    job.join(0), job.join(1);
    job.dies(1);
    job.over(0);
    EXPECT_EQ(job.received<Assigned>(0)->stamp.round, 1);
}

TEST(CoordinatorEnds, a_failed_job_never_ends_with_0) {
    for (int status : {0, -1, 256, 1 << 30}) {
        Job job(1, 1);
        job.join(0);
        job.fails(0, status);
        job.over(0);
        EXPECT_EQ(job.received<End>(0)->verdict.status, 1);
    }
}

TEST(CoordinatorEnds, more_workers_than_can_be_numbered_are_refused) {
    Job job(1, 5'000, 0);
    job.slots = 1 << 20;
    for (int node = 0; node < 2'047; ++node) job.join(node);
    EXPECT_FALSE(job.received<Refused>(2'046));
    job.join(2'047);
    EXPECT_TRUE(job.received<Refused>(2'047));
}

TEST(CoordinatorEnds, the_loss_of_the_stores_node_stops_the_peers_of_the_finished_rank) {
    Job job(2, 2, 1);
    job.join(0), job.join(1);
    job.over(0, true);
    job.dies(0);
    EXPECT_EQ(job.received<StopRound>(1)->reason, "node0 was lost");
    Job other(2, 2, 1);
    other.join(0), other.join(1);
    other.over(1, true);
    other.dies(1);
    EXPECT_FALSE(other.received<StopRound>(0)) << "it served nothing";
    other.over(0, true);
    EXPECT_EQ(other.received<End>(0)->verdict.status, 0);
}

TEST(CoordinatorEnds, the_verdict_is_sent_until_every_live_member_has_read_it) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.over(0, true), job.over(1, true);
    job.hangs_up(0);
    job.pass(20s, {1});
    EXPECT_FALSE(job.coordinator.finished()) << "node 1 still reads";
    job.pass(5'500ms);
    EXPECT_TRUE(job.coordinator.finished());
    EXPECT_EQ(job.coordinator.deadline(), kNever);
}

TEST(CoordinatorEnds, a_member_that_rejoins_after_the_verdict_receives_it) {
    Job job(2, 2);
    job.join(0), job.join(1);
    job.over(0, true), job.over(1, true);
    job.received<End>(0);
    job.hangs_up(0);
    job.job = job.coordinator.config();
    job.join(0);
    EXPECT_EQ(job.received<End>(0)->verdict.status, 0);
}

}  // namespace
}  // namespace dlaunch::rendezvous
