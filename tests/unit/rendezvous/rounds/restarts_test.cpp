#include "rendezvous/rounds/restarts.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;
using Kind = RestartDecision::Kind;

Restarts with(int max_restarts, int crash_loop = 0) {
    return Restarts(
        {.max_restarts = max_restarts, .first = 100ms, .most = 1000ms, .healthy = 10s, .crash_loop = crash_loop});
}

const FailedRound kQuick{5ms, "rank 1 exited 3", false};
const FailedRound kLate{60s, "rank 1 exited 3", false};

TEST(Restarts, no_budget_no_restart) { EXPECT_EQ(with(0).on_failure(kQuick).kind, Kind::budget_spent); }

TEST(Restarts, the_budget_is_spent_and_no_more) {
    Restarts restarts = with(2);
    EXPECT_EQ(restarts.on_failure(kLate).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kLate).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kLate).kind, Kind::budget_spent);
    EXPECT_EQ(restarts.used(), 2);
}

TEST(Restarts, the_first_restart_comes_at_once_and_the_pauses_double) {
    Restarts restarts = with(100);
    for (auto pause : {0ms, 100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms})
        EXPECT_EQ(restarts.on_failure(kQuick).pause, pause);
}

TEST(Restarts, a_healthy_round_resets_the_pauses) {
    Restarts restarts = with(100);
    for (int n = 0; n < 4; ++n) restarts.on_failure(kQuick);
    EXPECT_EQ(restarts.on_failure(kLate).pause, 0ms);
    EXPECT_EQ(restarts.on_failure(kQuick).pause, 0ms);
    EXPECT_EQ(restarts.on_failure(kQuick).pause, 100ms);
}

TEST(Restarts, alike_quick_failures_in_a_row_are_a_crash_loop) {
    Restarts restarts = with(100, 3);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::crash_loop);
}

TEST(Restarts, another_cause_or_a_healthy_round_breaks_the_loop) {
    Restarts restarts = with(100, 2);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure({5ms, "rank 0 exited 3", false}).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kLate).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::restart);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::crash_loop);
}

TEST(Restarts, a_spent_budget_comes_before_a_crash_loop) {
    Restarts restarts = with(1, 2);
    restarts.on_failure(kQuick);
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::budget_spent);
}

TEST(Restarts, line_describes_the_decision) {
    Restarts restarts = with(100, 4);
    EXPECT_EQ(restarts.line(restarts.on_failure(kQuick)), "restarting all workers (restart 1 of 100)");
    EXPECT_EQ(restarts.line(restarts.on_failure(kQuick)), "restarting all workers in 0.1 s (restart 2 of 100)");
    EXPECT_EQ(restarts.line({Kind::restart, 1ms}), "restarting all workers (restart 2 of 100)");
    restarts.on_failure(kQuick);
    EXPECT_EQ(restarts.line(restarts.on_failure(kQuick)),
              "gave up after 3 restarts: the job fails again and again in the same way");
    EXPECT_EQ(with(100, 1).line({Kind::crash_loop, 0ms}),
              "gave up without a restart: the first failure is enough for --crash-loop=1");
}

TEST(Restarts, losses_pause_and_end_in_a_crash_loop_but_spend_no_restart) {
    Restarts restarts = with(0, 4);
    EXPECT_EQ(restarts.on_loss(2s).pause, 0ms);
    EXPECT_EQ(restarts.on_loss(2s).pause, 100ms);
    EXPECT_EQ(restarts.on_loss(2s).pause, 200ms);
    const auto last = restarts.on_loss(2s);
    EXPECT_EQ(last.kind, Kind::crash_loop);
    EXPECT_EQ(restarts.line(last), "gave up: each of the last 4 rounds lost a node soon after its start");
    EXPECT_EQ(restarts.used(), 0);
}

TEST(Restarts, a_loss_or_change_after_a_healthy_time_resets_the_count) {
    Restarts restarts = with(0, 3);
    restarts.on_loss(2s), restarts.on_loss(2s);
    restarts.on_change(5s);
    EXPECT_EQ(restarts.counters().alike_in_a_row, 2) << "a newcomer soon after does not excuse them";
    restarts.on_change(10s);
    EXPECT_EQ(restarts.on_loss(2s).pause, 0ms);
    EXPECT_EQ(restarts.on_loss(20s).kind, Kind::restart);
}

TEST(Restarts, counters_go_on_under_a_successor) {
    Restarts earlier = with(100, 3);
    earlier.on_failure(kQuick), earlier.on_failure(kQuick);
    Restarts restarts({.max_restarts = 100, .first = 100ms, .most = 1000ms, .healthy = 10s, .crash_loop = 3},
                      earlier.counters());
    EXPECT_EQ(restarts.on_failure(kQuick).kind, Kind::crash_loop);
}

TEST(Restarts, a_permanent_failure_is_not_restarted) {
    Restarts restarts = with(5);
    EXPECT_EQ(restarts.on_failure({5ms, "", true}).kind, Kind::permanent);
    EXPECT_EQ(restarts.used(), 0);
}

}  // namespace
}  // namespace dlaunch::rendezvous
