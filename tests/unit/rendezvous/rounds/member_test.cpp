#include "rendezvous/rounds/member.hpp"

#include <gtest/gtest.h>

#include "tests/support/rendezvous/member_node.hpp"

namespace dlaunch::rendezvous {
namespace {

using Node = MemberNode;

TEST(Member, dials_joins_and_starts_what_it_is_assigned) {
    Node node;
    EXPECT_TRUE(node.did<Member::Connect>());
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>(), (Hello{"0.1.0", "job", 1}));
    EXPECT_EQ(node.sent<Join>()->record.id, "n1");
    node.welcome();
    node.assign(0);
    EXPECT_TRUE(node.did<Member::StartWorkers>());
    node.assign(0);
    EXPECT_FALSE(node.did<Member::StartWorkers>()) << "the coordinator repeats it after a cut";
}

TEST(Member, beats_keep_the_workers_alive) {
    Node node;
    node.welcome();
    node.assign(0);
    node.pass(60s, true);
    EXPECT_FALSE(node.did<Member::KillWorkers>());
}

TEST(Member, kills_its_workers_one_margin_before_the_time_out_and_rejoins) {
    Node node;
    node.welcome();
    node.assign(0);
    node.pass(3'950ms, false);
    EXPECT_FALSE(node.did<Member::KillWorkers>());
    node.pass(100ms, false);
    EXPECT_EQ(node.did<Member::KillWorkers>()->reason,
              "no message from the coordinator on node0 (10.0.0.1:29400) for 4 s");
    node.did<Member::Connect>();
    node.pass(1s, false);
    EXPECT_FALSE(node.did<Member::Connect>()) << "processes of the round may still live";
    node.member.round_over(node.now, false, {});
    node.listen();
    EXPECT_TRUE(node.did<Member::Connect>());
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 2U);
    EXPECT_FALSE(node.sent<Join>()->running);
}

TEST(Member, a_dial_that_is_lost_is_soon_tried_again_while_the_lease_runs) {
    const auto dials_within = [](Node& node, Milliseconds time) {
        int count = 0;
        for (const Time end = node.now + time; node.now < end;) {
            node.now += 50ms;
            node.member.tick(node.now);
            node.listen();
            if (node.did<Member::Connect>()) ++count;
        }
        return count;
    };
    Node fresh;
    fresh.listen();
    fresh.done.clear();
    EXPECT_EQ(dials_within(fresh, 2'000ms), 3) << "the first ones have less time: another address may answer";
    Node node;
    node.welcome();
    node.assign(0);
    node.done.clear();
    node.member.closed(node.now);
    EXPECT_EQ(dials_within(node, 2'000ms), 4);
}

TEST(Member, the_lease_starts_when_the_beat_is_sent) {
    Node node;
    node.welcome();
    node.assign(0);
    node.now += 1s;
    node.member.tick(node.now);
    node.listen();
    const auto beat = node.sent<Beat>();
    ASSERT_TRUE(beat);
    node.pass(1s, false);
    node.receive(Beat{node.from, beat->number});
    EXPECT_EQ(node.member.lease_until(), Time(1h + 1s + 4250ms)) << "a quarter second after it would act itself";
}

TEST(Member, beats_as_rarely_as_the_coordinator_demands_within_its_lease) {
    const auto beats_in = [](Milliseconds pause) {
        Node node;
        node.welcome();
        int count = 0;
        for (Time end = node.now + 20s; node.now < end;) {
            node.now += 10ms;
            node.member.tick(node.now);
            node.listen();
            EXPECT_FALSE(node.did<Member::Connect>() && count > 0) << "no silence is long enough for another dial";
            if (const auto beat = node.sent<Beat>()) {
                ++count;
                node.receive(Beat{node.from, beat->number, pause});
                node.listen();
            }
        }
        return count;
    };
    const int often = beats_in(0ms), rarely = beats_in(1h);
    EXPECT_TRUE(often >= 20 && often <= 25) << often;
    EXPECT_TRUE(rarely >= 9 && rarely <= 12) << rarely;
}

TEST(Member, a_fence_by_the_guard_counts_as_the_end_of_the_lease) {
    Node node;
    node.welcome();
    node.member.fenced_by_guard(node.now, "it was frozen");
    node.listen();
    EXPECT_FALSE(node.did<Member::KillWorkers>()) << "nothing runs";
    node.assign(0);
    node.member.fenced_by_guard(node.now, "it was frozen");
    node.member.failed(node.now, Cause{137, "k", "rank 0 was killed", false, ""});
    node.listen();
    EXPECT_EQ(node.did<Member::KillWorkers>()->reason, "it was frozen");
    EXPECT_FALSE(node.sent<Report>()) << "no failure of the workers";
    node.member.round_over(node.now, false, {});
    node.listen();
    node.welcome();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 2U);
    const auto line = node.did<Member::PrintLine>();
    EXPECT_EQ(line->text, "joined the job again");
    EXPECT_TRUE(line->about_node);
}

TEST(Member, buffered_messages_are_ignored_after_a_freeze) {
    Node node;
    node.welcome();
    node.now += 8s;
    node.assign(0);
    EXPECT_FALSE(node.did<Member::StartWorkers>());
}

TEST(Member, a_buffered_verdict_counts_after_a_freeze) {
    for (const bool runs : {false, true}) {
        Node node;
        node.welcome();
        node.assign(0);
        if (!runs) node.member.round_over(node.now, true, {});
        node.listen();
        node.now += 8s;
        node.receive(End{node.from, {3, "rank 1 failed", {}}});
        EXPECT_EQ(node.did<Member::KillWorkers>().has_value(), runs);
        if (runs) {
            EXPECT_FALSE(node.did<Member::EndJob>()) << "the workers still run";
            node.member.round_over(node.now, false, {});
            node.listen();
        }
        const auto end = node.did<Member::EndJob>();
        ASSERT_TRUE(end);
        EXPECT_EQ(end->status, 3);
    }
}

TEST(Member, closes_a_round_that_was_over_here_when_it_is_over_everywhere) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.round_over(node.now, true, {});
    node.listen();
    EXPECT_FALSE(node.did<Member::CloseRound>());
    node.receive(StopRound{node.from, "rank 3 failed"});
    EXPECT_TRUE(node.did<Member::CloseRound>());
    EXPECT_FALSE(node.did<Member::StopWorkers>());
}

TEST(Member, a_foreign_service_at_the_endpoint_ends_it_at_once) {
    Node node;
    node.member.connected(node.now);
    node.member.connect_failed(node.now, {false, "10.0.0.1:29400: another service listens there", true});
    node.listen();
    const auto end = node.did<Member::EndJob>();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status, 83);
    EXPECT_EQ(end->reason,
              "no coordinator: 10.0.0.1:29400: another service listens there, expected a dlaunch that hosts this job");
}

TEST(Member, a_foreign_service_after_the_coordinator_is_its_loss) {
    Node node;
    node.welcome();
    node.member.closed(node.now);
    node.member.connect_failed(node.now, {false, "10.0.0.1:29400: it sends \"hello\"", true});
    node.listen();
    EXPECT_EQ(node.did<Member::EndJob>()->status, 81);
}

TEST(Member, reports_once_that_no_coordinator_answers_at_the_endpoint) {
    Node node;
    node.member.connected(node.now);
    node.now += 2s;
    node.member.tick(node.now);
    node.listen();
    EXPECT_EQ(node.did<Member::PrintLine>()->text,
              "waiting for the coordinator at 10.0.0.1:29400: it does not answer as a coordinator does");
    node.member.connected(node.now);
    node.now += 500ms;
    node.member.tick(node.now);
    node.listen();
    EXPECT_FALSE(node.did<Member::PrintLine>());
    EXPECT_FALSE(node.member.ended());
}

TEST(Member, gives_up_after_a_minute_with_81) {
    Node node;
    node.welcome();
    node.pass(4'100ms, false);
    node.pass(59s, false);
    EXPECT_FALSE(node.member.ended());
    node.pass(1'500ms, false);
    EXPECT_EQ(node.did<Member::EndJob>()->status, 81);
}

TEST(Member, a_dead_fixed_coordinator_ends_it_at_once_with_81) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.closed(node.now);
    node.pass(50ms, false);
    node.member.connect_failed(node.now, {true, "10.0.0.1:29400: Connection refused"});
    node.listen();
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    node.member.round_over(node.now, false, {});
    node.listen();
    const auto end = node.did<Member::EndJob>();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status, 81);
    EXPECT_EQ(end->reason, "the coordinator on node0 (10.0.0.1:29400) was lost");
}

TEST(Member, sends_its_state_again_after_a_cut) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.failed(node.now, Cause{3, "k", "rank 0 failed", false, ""});
    node.listen();
    EXPECT_EQ(node.sent<Report>()->phase, Report::Phase::failed);
    node.member.closed(node.now);
    node.pass(50ms, false);
    node.member.round_over(node.now, false, {});
    node.listen();
    EXPECT_FALSE(node.sent<Report>());
    node.welcome();
    EXPECT_EQ(node.sent<Report>()->phase, Report::Phase::over);
}

TEST(Member, a_round_that_ended_while_it_was_cut_off_is_over_for_it) {
    Node node;
    node.welcome();
    node.from.round = 3;
    node.receive(StopRound{node.from, "node2 was lost"});
    EXPECT_EQ(node.sent<Report>()->stamp.round, 3);
    EXPECT_FALSE(node.did<Member::StopWorkers>());
}

TEST(Member, messages_of_another_coordinator_or_an_old_round_are_ignored) {
    Node node;
    node.welcome();
    node.assign(4);
    node.receive(StopRound{{1, 3, 77}, ""});
    node.receive(StopRound{{1, 4, 78}, ""});
    node.receive(StopRound{{2, 4, 77}, ""});
    EXPECT_FALSE(node.did<Member::StopWorkers>());
    node.receive(StopRound{{1, 4, 77}, ""});
    EXPECT_TRUE(node.did<Member::StopWorkers>());
}

TEST(Member, without_a_coordinator_it_ends_with_80_after_the_join_time_out) {
    Node node;
    for (Time end = node.now + 600s; node.now < end; node.now += 250ms) {
        node.member.connect_failed(node.now, {true, "10.0.0.1:29400: Connection refused"});
        node.member.tick(node.now + 250ms);
    }
    node.member.tick(node.now);
    node.listen();
    const auto end = node.did<Member::EndJob>();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status, 80);
    EXPECT_EQ(end->reason,
              "rendezvous timed out after 600 s: no answer from the coordinator at 10.0.0.1:29400: Connection refused");
}

TEST(Member, a_refusal_is_the_end) {
    Node node;
    node.member.connected(node.now);
    node.receive(Refused{false, 83, "this is job \"a\", the coordinator serves job \"b\""});
    EXPECT_EQ(node.did<Member::EndJob>()->status, 83);
}

TEST(Member, a_leaving_node_waits_for_the_verdict_while_the_coordinator_lives) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.leave(Leave::Scope::node_if_enough, 143, "SIGTERM received");
    node.listen();
    EXPECT_EQ(node.sent<Leave>()->status, 143);
    node.member.round_over(node.now, false, {});
    node.pass(30s, true);
    EXPECT_FALSE(node.member.ended());
    node.pass(4'600ms, false);
    EXPECT_EQ(node.did<Member::EndJob>()->status, 143);
}

TEST(Member, a_leave_before_the_welcome_ends_it_at_once) {
    Node node;
    node.member.leave(Leave::Scope::node_if_enough, 130, "SIGINT received");
    node.listen();
    EXPECT_EQ(node.did<Member::EndJob>()->status, 130);
}

}  // namespace
}  // namespace dlaunch::rendezvous
