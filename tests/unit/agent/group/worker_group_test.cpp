#include <csignal>
#include <string>
#include <vector>

#include "tests/support/agent/worker_group.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(WorkerGroupTest, each_state_is_entered_before_its_commands) {
    group.assign(1, now);
    EXPECT_EQ(commands(), (Strings{"-> starting, assigned", "start 0"}));
    group.made(0);
    group.proceed(now);
    EXPECT_EQ(commands(), Strings{});
    group.executed(0, now);
    EXPECT_EQ(commands(), (Strings{"-> running, started", "started"}));
    end(0);
    EXPECT_EQ(commands(), (Strings{"-> clearing, none_left", "sweep"}));
    group.swept(0, now);
    EXPECT_EQ(commands(), Strings{"drain"});
    group.drained(now);
    EXPECT_EQ(commands(), (Strings{"-> idle, cleared", "finish well"}));
    EXPECT_FALSE(group.next_deadline());
}

TEST_F(WorkerGroupTest, a_judged_worker_is_the_cause_and_its_exit_no_second_failure) {
    run(2);
    group.judged(1, now);
    EXPECT_EQ(commands(), (Strings{"fail 1", "-> stopping, exited_badly", "collect", "announce", "stop 15"}));
    end(1, false);
    end(0, false);
    EXPECT_EQ(commands(), (Strings{"collateral 0", "look for orphans"}));
}

TEST_F(WorkerGroupTest, a_worker_that_exited_well_can_be_judged) {
    run(2);
    end(1);
    group.judged(1, now);
    EXPECT_EQ(commands(), (Strings{"fail 1", "-> stopping, exited_badly", "collect", "announce", "stop 15"}));
}

TEST_F(WorkerGroupTest, a_verdict_after_a_stop_has_no_effect) {
    run(2);
    group.stop(SIGTERM, now);
    commands();
    EXPECT_FALSE(group.heeds_verdicts());
    group.judged(1, now);
    EXPECT_EQ(commands(), Strings{});
}

TEST_F(WorkerGroupTest, a_worker_without_a_process_can_be_judged) {
    group.assign(2, now);
    commands();
    group.judged(0, now);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> stopping, exited_badly", "collect", "announce", "stop 15"}));
    group.unmade(0, now);
    EXPECT_EQ(commands(), Strings{"look for orphans"});
}

TEST_F(WorkerGroupTest, one_worker_is_started_per_turn_and_a_bounded_number_at_once) {
    constexpr int kAtOnce = WorkerGroup::kStartingAtOnce;
    group.assign(kAtOnce + 2, now);
    Strings started, expected;
    for (int turn = 0; turn < kAtOnce + 6; ++turn) {
        for (const std::string& text : commands())
            if (text.starts_with("start ")) started.push_back(text);
        EXPECT_LE(started.size(), static_cast<std::size_t>(turn) + 1);
        group.proceed(now);
    }
    for (int worker = 0; worker < kAtOnce; ++worker) expected.push_back(fmt::format("start {}", worker));
    EXPECT_EQ(started, expected);
    group.executed(2, now);
    EXPECT_EQ(commands(), Strings{fmt::format("start {}", kAtOnce)});
}

TEST_F(WorkerGroupTest, workers_that_cannot_execute_fail_the_round_once) {
    group.assign(2, now);
    group.made(0);
    group.proceed(now);
    commands();
    group.not_started(0, now);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> stopping, spawn_failed", "collect", "announce", "stop 15"}));
    group.not_started(1, now);
    EXPECT_EQ(commands(), Strings{"look for orphans"});
    group.orphans(0, now);
    EXPECT_EQ(commands(), (Strings{"-> clearing, none_left", "sweep"}));
    clear();
    EXPECT_EQ(commands(), (Strings{"drain", "-> idle, cleared", "finish badly"}));
}

TEST_F(WorkerGroupTest, a_failure_stops_the_other_workers_and_their_exits_are_collateral) {
    run(3);
    end(1, false);
    EXPECT_EQ(commands(), (Strings{"fail 1", "-> stopping, exited_badly", "collect", "announce", "stop 15"}));
    end(0, false);
    EXPECT_EQ(commands(), Strings{"collateral 0"});
    end(2);
    EXPECT_EQ(commands(), Strings{"look for orphans"});
}

TEST_F(WorkerGroupTest, held_exits_are_failures_when_no_request_arrives) {
    run(2);
    end_as_if_asked(0);
    end_as_if_asked(1);
    EXPECT_TRUE(group.holds_ends());
    EXPECT_EQ(commands(), Strings{});
    now = *group.next_deadline();
    group.tick(now);
    EXPECT_EQ(commands(), (Strings{"fail 0", "-> stopping, exited_badly", "collect", "announce", "stop 15", "fail 1",
                                   "look for orphans"}));
}

TEST_F(WorkerGroupTest, a_request_makes_held_exits_collateral) {
    run(2);
    end_as_if_asked(0);
    end(1);
    group.stop(SIGINT, now);
    EXPECT_EQ(commands(), (Strings{"-> stopping, stop_requested", "stop 2", "collateral 0", "look for orphans"}));
}

TEST_F(WorkerGroupTest, a_worker_that_outlives_the_grace_is_killed) {
    run(1);
    group.stop(SIGTERM, now);
    commands();
    EXPECT_EQ(group.next_deadline(), now + 30s);
    now += 30s;
    group.tick(now);
    EXPECT_EQ(commands(), (Strings{"-> killing, grace_over", "kill"}));
    end(0, false);
    EXPECT_EQ(commands(), (Strings{"collateral 0", "-> clearing, none_left", "sweep"}));
}

TEST_F(WorkerGroupTest, no_timer_of_a_state_outlives_it) {
    run(1);
    group.kill(now);
    end(0, false);
    clear();
    EXPECT_FALSE(group.next_deadline()) << "the last resort of the killed round";
    run(1);
    EXPECT_FALSE(group.next_deadline());
}

TEST_F(WorkerGroupTest, a_worker_that_outlives_sigkill_is_given_up) {
    run(2);
    end(0);
    group.kill(now);
    commands();
    now = *group.next_deadline();
    group.tick(now);
    EXPECT_EQ(commands(), (Strings{"report unkillable", "-> clearing, unkillable", "sweep"}));
    EXPECT_TRUE(group.unkillable());
    group.swept(1, now);
    EXPECT_EQ(commands(), Strings{"drain"}) << "the sweep cannot end it either";
    group.ended(1, {}, now);
    EXPECT_EQ(commands(), Strings{});
}

TEST_F(WorkerGroupTest, orphans_get_the_grace_and_are_asked_once) {
    run(1);
    end(0, false);
    commands();
    group.orphans(2, now);
    EXPECT_EQ(commands(), Strings{"end orphans"});
    group.child(now);
    group.child(now);
    EXPECT_EQ(commands(), Strings{"look for orphans"});
    group.orphans(1, now);
    EXPECT_EQ(commands(), Strings{});
    group.child(now);
    group.orphans(0, now);
    EXPECT_EQ(commands(), (Strings{"look for orphans", "-> clearing, none_left", "sweep"}));
}

TEST_F(WorkerGroupTest, a_sweep_looks_again_and_is_bounded) {
    run(1);
    end(0);
    const base::Time begun = now;
    commands();
    group.swept(3, now);
    EXPECT_EQ(group.next_deadline(), now + WorkerGroup::kLookAgain);
    now += 1ms;
    group.child(now);
    EXPECT_EQ(commands(), Strings{}) << "a burst of ends is one look";
    now = *group.next_deadline();
    EXPECT_EQ(now, begun + WorkerGroup::kLookPause);
    int looks = 0;
    while (now < begun + WorkerGroup::kSweepLimit) {
        group.tick(now);
        for (const std::string& text : commands()) {
            if (text != "sweep") continue;
            ++looks;
            group.swept(3, now);
        }
        now = *group.next_deadline();
    }
    group.tick(now);
    EXPECT_EQ(commands(), Strings{"drain"});
    EXPECT_GT(looks, 10);
    group.drained(now);
    EXPECT_EQ(commands(), (Strings{"-> idle, cleared", "finish well"})) << "a slow sweep is no failure";
}

TEST_F(WorkerGroupTest, a_second_interrupt_cuts_sweep_and_drain) {
    run(1);
    group.stop(SIGINT, now);
    end(0);
    group.orphans(0, now);
    group.swept(1, now);
    commands();
    group.kill(now);
    EXPECT_EQ(commands(), Strings{"cut drain"});
    group.tick(now);
    EXPECT_EQ(commands(), Strings{"drain"});
}

TEST_F(WorkerGroupTest, a_suspended_group_starts_no_worker) {
    group.assign(2, now);
    group.made(0);
    commands();
    group.suspend();
    group.proceed(now);
    EXPECT_EQ(commands(), Strings{"signal " + std::to_string(SIGSTOP)});
    group.resume(now);
    EXPECT_EQ(commands(), (Strings{"signal " + std::to_string(SIGCONT), "start 1"}));
}

TEST_F(WorkerGroupTest, a_resumed_group_waits_for_the_start_before_like_any_other) {
    group.assign(2, now);
    commands();
    group.suspend();
    group.resume(now);
    const std::string stop = "signal " + std::to_string(SIGSTOP), go_on = "signal " + std::to_string(SIGCONT);
    EXPECT_EQ(commands(), (Strings{stop, go_on})) << "worker 0 was ordered, and waits for its folder";
    group.made(0);
    group.proceed(now);
    EXPECT_EQ(commands(), Strings{"start 1"});
}

TEST_F(WorkerGroupTest, a_round_assigned_after_the_end_is_over_at_once) {
    group.stop(SIGTERM, now);
    EXPECT_EQ(commands(), Strings{"-> over, stop_requested"});
    group.assign(3, now);
    EXPECT_EQ(commands(), Strings{"finish badly"});
}

TEST_F(WorkerGroupTest, each_worker_that_runs_at_the_time_limit_is_a_cause) {
    run(3);
    end(1);
    group.time_out(now);
    EXPECT_EQ(commands(), (Strings{"fail 0", "fail 2", "-> stopping, stop_requested", "stop 15"}));
    end(0, false);
    EXPECT_EQ(commands(), Strings{}) << "its first failure stays";
}

class ForkedGroupTest : public WorkerGroupTest {
protected:
    ForkedGroupTest() : WorkerGroupTest(true) {}
};

TEST_F(ForkedGroupTest, workers_wait_for_the_template) {
    group.assign(1, now);
    EXPECT_EQ(commands(), (Strings{"-> starting, assigned", "start template"}));
    now = *group.next_deadline();
    group.tick(now);
    EXPECT_EQ(commands(), Strings{"hint"});
    group.template_ready(now);
    EXPECT_EQ(commands(), Strings{"start 0"});
}

TEST_F(ForkedGroupTest, a_stop_waits_for_a_template_before_its_fork_point) {
    group.assign(1, now);
    group.stop(SIGTERM, now);
    EXPECT_EQ(commands(),
              (Strings{"-> starting, assigned", "start template", "-> stopping, stop_requested", "stop 15"}));
    group.template_ended({.well = true}, now);
    EXPECT_EQ(commands(), Strings{"look for orphans"});
}

TEST_F(ForkedGroupTest, an_old_template_that_made_no_worker_is_replaced) {
    group.assign(1, now);
    group.template_ready(now);
    group.executed(0, now);
    end(0);
    clear();
    commands();
    group.assign(1, now);
    EXPECT_EQ(commands(), (Strings{"-> starting, assigned", "start 0"}));
    group.unmade(0, now);
    group.template_ended({.at_fork_point = true}, now);
    EXPECT_EQ(commands(), Strings{"start template"});
    group.template_ended({}, now);
    EXPECT_EQ(commands(),
              (Strings{"fail 0", "-> stopping, exited_badly", "collect", "announce", "stop 15", "look for orphans"}));
}

TEST_F(ForkedGroupTest, a_template_that_ends_when_all_workers_are_made_is_not_replaced) {
    group.assign(1, now);
    group.template_ready(now);
    group.made(0);
    commands();
    group.template_ended({.at_fork_point = true}, now);
    EXPECT_EQ(commands(), Strings{});
    group.executed(0, now);
    EXPECT_EQ(commands(), (Strings{"-> running, started", "started"}));
}

TEST_F(ForkedGroupTest, a_refused_template_fails_the_round) {
    group.assign(2, now);
    commands();
    group.template_refused(now);
    EXPECT_EQ(commands(),
              (Strings{"fail 0", "-> stopping, spawn_failed", "collect", "announce", "stop 15", "look for orphans"}));
}

}  // namespace
}  // namespace dlaunch::agent
