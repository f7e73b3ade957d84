/// A member after a change of its connection or coordinator.

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/support/rendezvous/member_node.hpp"

namespace dlaunch::rendezvous {
namespace {

using Node = MemberNode;

/// A member that wakes after its lease, and finds its connection closed.
struct FrozenNode : Node {
    FrozenNode() {
        welcome();
        assign(0);
        now += 7s;
        member.closed(now, true);
        member.tick(now);
        listen();
    }
};

TEST(MemberCuts, a_connection_that_closes_is_a_cut) {
    Node node;
    node.welcome();
    node.assign(0);
    node.did<Member::Connect>();
    node.member.closed(node.now);
    node.pass(150ms, false);
    EXPECT_TRUE(node.did<Member::Connect>()) << "soon, but spread over all members";
    node.pass(1'500ms, false);
    EXPECT_FALSE(node.member.ended());
    EXPECT_FALSE(node.did<Member::KillWorkers>()) << "the lease runs";
    node.welcome();
    node.pass(10s, true);
    EXPECT_FALSE(node.did<Member::KillWorkers>());
}

TEST(MemberCuts, a_fixed_coordinator_that_closed_and_accepts_nothing_until_the_lease_ends_is_dead) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.closed(node.now, true);
    node.pass(3'900ms, false);
    EXPECT_FALSE(node.did<Member::KillWorkers>());
    node.pass(200ms, false);
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    node.member.round_over(node.now, false, {});
    node.listen();
    EXPECT_EQ(node.did<Member::EndJob>()->status, 81);
}

TEST(MemberCuts, a_member_evicted_while_it_was_frozen_rejoins_a_fixed_coordinator) {
    FrozenNode node;
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    node.did<Member::Connect>();
    node.member.round_over(node.now, false, {});
    node.listen();
    EXPECT_FALSE(node.did<Member::EndJob>());
    ASSERT_TRUE(node.did<Member::Connect>());
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 2U);
}

TEST(MemberCuts, a_member_evicted_while_it_was_frozen_ends_when_the_coordinator_refuses) {
    FrozenNode node;
    node.member.round_over(node.now, false, {});
    node.member.connect_failed(node.now, {.refused = true, .text = "refused"});
    node.listen();
    EXPECT_EQ(node.did<Member::EndJob>()->status, 81);
}

TEST(MemberCuts, a_success_that_was_not_delivered_outlives_the_lease) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.closed(node.now);
    node.member.round_over(node.now, true, {});
    node.pass(4'500ms, false);
    node.did<Member::Connect>();
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 1U);
    const auto join = node.sent<Join>();
    ASSERT_TRUE(join && join->running);
    EXPECT_FALSE(join->running->alive);
    node.receive(Welcome{node.from, join->beat, JobConfig{}, "node0"});
    EXPECT_TRUE(node.sent<Report>()->succeeded);
    node.receive(Refused{true, 0, "this node was silent for too long"});
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 2U) << "unless the coordinator has evicted it";
}

TEST(MemberCuts, a_node_that_waits_for_a_round_keeps_its_place_beyond_its_lease) {
    Node node;
    node.welcome();
    node.member.closed(node.now);
    node.pass(3'950ms, false);
    node.member.connected(node.now);  // the next coordinator assigns the node as soon as it has this Join
    node.pass(50ms, false);
    EXPECT_TRUE(node.did<Member::Connect>()) << "what the earlier connection still brings may be of an evicted node";
    node.sent<Hello>();
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 1U);
    node.from = {2, 0, 78};
    node.receive(Welcome{node.from, node.sent<Join>()->beat, JobConfig{}, "node0"});
    node.assign(0);
    EXPECT_TRUE(node.did<Member::StartWorkers>());
    node.pass(3'900ms, false);
    EXPECT_FALSE(node.did<Member::KillWorkers>()) << "the lease has begun anew";
    node.pass(200ms, false);
    EXPECT_TRUE(node.did<Member::KillWorkers>());
}

TEST(MemberCuts, a_leave_and_a_report_reach_the_next_coordinator_in_their_order) {
    for (const bool leaves_first : {true, false}) {
        Node node;
        node.welcome();
        node.assign(0);
        if (!leaves_first) node.member.failed(node.now, {.status = 3});
        node.member.leave(Leave::Scope::node, 143, "SIGTERM received");
        node.member.round_over(node.now, false, {});
        node.member.closed(node.now);
        node.pass(150ms, false);
        node.member.connected(node.now);
        node.listen();
        node.done.clear();
        node.from = {2, 0, 78};
        node.receive(Welcome{node.from, 0, JobConfig{}, "node0"});
        std::vector<bool> leaves;
        for (const auto& action : node.done)
            if (const auto* send = std::get_if<Member::SendOut>(&action))
                leaves.push_back(std::holds_alternative<Leave>(send->message));
        EXPECT_EQ(leaves, (std::vector<bool>{leaves_first, !leaves_first}));
    }
}

TEST(MemberCuts, a_stop_of_a_later_round_kills_the_running_workers) {
    Node node;
    node.welcome();
    node.assign(0);
    node.from.round = 2;
    node.receive(StopRound{node.from, "why"});
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    EXPECT_FALSE(node.sent<Report>()) << "the workers still run";
}

TEST(MemberCuts, a_stale_coordinator_changes_nothing) {
    Node node;
    node.from = {5, -1, 77};
    node.welcome();
    node.assign(0);
    node.done.clear();
    node.member.closed(node.now);
    node.pass(150ms, false);
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Join>()->stamp.epoch, 5U);
    node.receive(Welcome{{4, 3, 76}, 0, JobConfig{}, "node9"});
    EXPECT_TRUE(node.did<Member::Disconnect>());
    node.receive(StopRound{{4, 0, 76}, "why"});
    EXPECT_FALSE(node.did<Member::StopWorkers>());
    EXPECT_FALSE(node.did<Member::KillWorkers>());
    EXPECT_FALSE(node.member.ended());
}

TEST(MemberCuts, another_coordinator_of_the_same_epoch_is_obeyed_only_when_nothing_runs) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.closed(node.now);
    node.pass(150ms, false);
    node.member.connected(node.now);
    node.receive(Welcome{{1, 0, 78}, 0, JobConfig{}, "node9"});
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    node.member.round_over(node.now, false, {});
    node.listen();
    node.from = {1, 0, 78};
    node.welcome();
    EXPECT_EQ(node.did<Member::PrintLine>()->text, "joined the job again");
}

TEST(MemberCuts, dials_a_moved_coordinator_at_once) {
    Node node;
    node.welcome();
    node.assign(0);
    node.did<Member::Connect>();
    node.member.moved(node.now, 1);
    node.listen();
    EXPECT_FALSE(node.did<Member::Connect>()) << "the member is connected to that coordinator";
    node.member.moved(node.now, 2);
    node.listen();
    EXPECT_TRUE(node.did<Member::Connect>());
}

TEST(MemberCuts, rediscovers_after_a_second_without_a_welcome_then_less_often) {
    Node node;
    std::vector<Milliseconds> waits;
    for (int n = 0; n < 5; ++n) {
        node.did<Member::Connect>();
        node.member.connected(node.now);
        const Time since = node.now;
        while (!node.did<Member::Connect>()) node.pass(50ms, false);
        waits.push_back(std::chrono::duration_cast<Milliseconds>(node.now - since));
    }
    const std::vector<Milliseconds> least{1s, 2s, 4s, 8s, 8s};
    for (std::size_t at = 0; at < waits.size(); ++at) {
        EXPECT_GE(waits[at], least[at]);
        EXPECT_LE(waits[at], least[at] * 5 / 4 + 50ms);
    }
}

TEST(MemberCuts, beats_are_spread) {
    std::set<Milliseconds> gaps;
    Node node;
    node.welcome();
    for (Time last = node.now, end = node.now + 60s; node.now < end;) {
        node.now += 1ms;
        node.member.tick(node.now);
        node.listen();
        if (const auto beat = node.sent<Beat>()) {
            gaps.insert(std::chrono::duration_cast<Milliseconds>(node.now - std::exchange(last, node.now)));
            node.receive(Beat{node.from, beat->number});
        }
    }
    EXPECT_GE(*gaps.begin(), 800ms);
    EXPECT_LE(*gaps.rbegin(), 1'001ms);
    EXPECT_GT(gaps.size(), 20U);
}

TEST(MemberCuts, ends_with_the_recorded_verdict_when_its_workers_are_dead) {
    Node node;
    node.welcome();
    node.assign(0);
    node.member.job_is_over({80, "node2 was lost", {}});
    node.listen();
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    EXPECT_FALSE(node.did<Member::EndJob>());
    node.member.round_over(node.now, false, {});
    node.listen();
    EXPECT_EQ(node.did<Member::EndJob>()->status, 80);
}

TEST(MemberCuts, sends_gone_when_its_guard_is_dead) {
    Node node;
    node.welcome();
    node.member.gone();
    node.listen();
    EXPECT_TRUE(node.sent<Gone>());
    EXPECT_TRUE(node.did<Member::Disconnect>());
    EXPECT_TRUE(node.member.ended());
}

/// A member of a job whose coordinator may move, and its own place among the standbys.
struct MovableNode : MemberNode {
    MovableNode() {
        auto options = MemberNode::options();
        options.fixed_coordinator = false;
        options.record.address = "10.0.0.7";
        options.record.standby_port = 6007;
        member = Member(std::move(options), now, 1);
        listen();
        welcome();
    }
};

TEST(MemberStandbys, a_standby_is_told_the_others) {
    MovableNode node;
    node.receive(Standbys{node.from, {{"10.0.0.1", 6001}, {"10.0.0.7", 6007}, {"10.0.0.7", 6008}}});
    const auto named = node.did<Member::NameStandbys>();
    ASSERT_TRUE(named);
    EXPECT_TRUE(named->is_one);
    EXPECT_EQ(named->others, (std::vector<StandbyPlace>{{"10.0.0.1", 6001}, {"10.0.0.7", 6008}}));
    node.receive(Standbys{node.from, {{"10.0.0.1", 6001}}});
    EXPECT_FALSE(node.did<Member::NameStandbys>()->is_one);
}

TEST(MemberStandbys, another_coordinators_standbys_are_ignored) {
    MovableNode node;
    node.receive(Standbys{{node.from.epoch + 1, -1, 78}, {{"10.0.0.1", 6001}}});
    EXPECT_FALSE(node.did<Member::NameStandbys>());
}

TEST(MemberStandbys, the_next_address_is_dialed_at_once_and_all_again_after_a_pause) {
    MovableNode node;
    node.member.closed(node.now, true);
    node.pass(1'000ms, false);
    ASSERT_TRUE(node.did<Member::Connect>());
    for (int refused = 0; refused < 3; ++refused) {
        node.member.connect_failed(node.now, {.refused = false, .text = "refused", .has_more = true});
        EXPECT_EQ(node.member.deadline(), node.now);
        node.member.tick(node.now);
        node.listen();
        ASSERT_TRUE(node.did<Member::Connect>());
    }
    node.member.connect_failed(node.now, {.refused = false, .text = "refused"});
    EXPECT_GT(node.member.deadline(), node.now);
}

TEST(MemberStandbys, pauses_between_dials_are_short_while_workers_must_be_fenced) {
    MovableNode node;
    node.member.closed(node.now, true);
    for (int dials = 0; dials < 20; ++dials) {
        node.pass(200ms, true);
        ASSERT_TRUE(node.did<Member::Connect>()) << dials;
        node.member.connect_failed(node.now, {.text = "refused"});
    }
}

TEST(MemberStandbys, an_address_that_belongs_to_another_job_is_left) {
    MovableNode node;
    node.member.closed(node.now, true);
    node.pass(1'000ms, false);
    node.member.connected(node.now);
    node.receive(Refused{false, 83, "this is job \"job\", the coordinator serves job \"other\""});
    EXPECT_FALSE(node.did<Member::EndJob>());
    EXPECT_TRUE(node.did<Member::Disconnect>());
    node.pass(500ms, false);
    EXPECT_TRUE(node.did<Member::Connect>());
}

}  // namespace
}  // namespace dlaunch::rendezvous
