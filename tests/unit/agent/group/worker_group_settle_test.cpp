// The wait for a better cause after a lost peer, and exits that wait for their messages.

#include <csignal>
#include <string>
#include <vector>

#include "tests/support/agent/worker_group.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(WorkerGroupTest, a_lost_peer_stops_no_worker_before_the_settle_time_is_over) {
    run(3);
    lose_peer(1);
    EXPECT_EQ(commands(), (Strings{"fail 1", "-> settling, lost_peer"}));
    EXPECT_EQ(group.next_deadline(), now + 1s);
    now += 500ms;
    lose_peer(2);
    EXPECT_EQ(commands(), Strings{"fail 2"});
    EXPECT_EQ(group.next_deadline(), now + 500ms) << "the time counts from the first exit";
    now += 500ms;
    group.tick(now);
    EXPECT_EQ(commands(), (Strings{"-> stopping, settled", "collect", "announce", "stop 15"}));
    end(0, false);
    EXPECT_EQ(commands(), (Strings{"collateral 0", "look for orphans"}));
}

TEST_F(WorkerGroupTest, a_lost_peer_is_judged_when_all_workers_have_started) {
    group.assign(2, now);
    group.made(0);
    group.executed(0, now);
    commands();
    lose_peer(0);
    EXPECT_EQ(commands(), Strings{}) << "the one that it has lost may not have started";
    EXPECT_FALSE(group.next_deadline());
    group.proceed(now);
    group.made(1);
    group.executed(1, now);
    group.proceed(now);
    EXPECT_EQ(commands(), (Strings{"start 1", "-> running, started", "started", "fail 0", "-> settling, lost_peer"}));
}

TEST_F(WorkerGroupTest, any_other_failure_during_the_start_is_judged_before_a_lost_peer) {
    group.assign(3, now);
    for (int worker = 0; worker < 2; ++worker) {
        group.made(worker);
        group.executed(worker, now);
        group.proceed(now);
    }
    commands();
    lose_peer(0);
    end(1, false);
    EXPECT_EQ(commands(), (Strings{"fail 1", "-> stopping, exited_badly", "collect", "announce", "stop 15", "fail 0"}));
}

TEST_F(WorkerGroupTest, any_other_failure_ends_the_settle_time) {
    run(3);
    lose_peer(1);
    commands();
    end(0);
    EXPECT_EQ(commands(), Strings{});
    end(2, false);
    EXPECT_EQ(commands(),
              (Strings{"fail 2", "-> stopping, exited_badly", "collect", "announce", "stop 15", "look for orphans"}));
}

TEST_F(WorkerGroupTest, the_settle_time_ends_when_all_workers_have_exited) {
    run(2);
    lose_peer(1);
    commands();
    end(0);
    EXPECT_EQ(commands(), (Strings{"-> clearing, none_left", "sweep"}));
}

TEST_F(WorkerGroupTest, workers_of_other_nodes_have_the_settle_time_too) {
    run(1, true);
    lose_peer(0);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> settling, lost_peer"}));
    now += 1s;
    group.tick(now);
    EXPECT_EQ(commands(), (Strings{"-> stopping, settled", "collect", "announce", "stop 15", "look for orphans"}));
}

TEST_F(WorkerGroupTest, an_exit_waits_for_its_message_and_later_ones_wait_behind_it) {
    run(3);
    end_with_message(0);
    end(1, false);
    EXPECT_EQ(commands(), Strings{});
    group.message(0, true, now);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> settling, lost_peer", "fail 1", "-> stopping, exited_badly", "collect",
                                   "announce", "stop 15"}));
}

TEST_F(WorkerGroupTest, an_exit_without_its_message_counts_as_any_failure) {
    run(2);
    end_with_message(0);
    EXPECT_EQ(group.next_deadline(), now + 500ms);
    now += 500ms;
    group.tick(now);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> stopping, exited_badly", "collect", "announce", "stop 15"}));
    group.message(0, true, now);
    EXPECT_EQ(commands(), Strings{});
}

TEST_F(WorkerGroupTest, a_stop_excuses_no_exit_that_waits_for_its_message) {
    run(2);
    end_with_message(0);
    group.stop(SIGTERM, now);
    EXPECT_EQ(commands(), (Strings{"-> stopping, stop_requested", "stop 15", "fail 0"}));
}

TEST_F(WorkerGroupTest, exits_before_the_stop_signal_are_no_consequence_of_it) {
    run(3);
    end(0, false);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> stopping, exited_badly", "collect", "announce", "stop 15"}));
    group.ended(1, {.asked = false}, now);
    EXPECT_EQ(commands(), Strings{"fail 1"});
    group.ended(2, {.asked = true}, now);
    EXPECT_EQ(commands(), (Strings{"collateral 2", "look for orphans"}));
}

}  // namespace
}  // namespace dlaunch::agent
