/// A member whose connection or whose coordinator changes.

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/support/rendezvous/member_node.hpp"

namespace dlaunch::rendezvous {
namespace {

using Node = MemberNode;

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
    node.hear(Welcome{node.from, join->beat, JobConfig{}, "node0"});
    EXPECT_TRUE(node.sent<Report>()->succeeded);
    node.hear(Refused{true, 0, "this node was silent for too long"});
    node.member.connected(node.now);
    node.listen();
    EXPECT_EQ(node.sent<Hello>()->incarnation, 2U) << "unless the coordinator has gone on without it";
}

TEST(MemberCuts, a_stop_of_a_later_round_kills_what_runs) {
    Node node;
    node.welcome();
    node.assign(0);
    node.from.round = 2;
    node.hear(StopRound{node.from, "why"});
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    EXPECT_FALSE(node.sent<Report>()) << "that nothing lives would be a lie";
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
    node.hear(Welcome{{4, 3, 76}, 0, JobConfig{}, "node9"});
    EXPECT_TRUE(node.did<Member::Disconnect>());
    node.hear(StopRound{{4, 0, 76}, "why"});
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
    node.hear(Welcome{{1, 0, 78}, 0, JobConfig{}, "node9"});
    EXPECT_TRUE(node.did<Member::KillWorkers>());
    node.member.round_over(node.now, false, {});
    node.listen();
    node.from = {1, 0, 78};
    node.welcome();
    EXPECT_EQ(node.did<Member::TellUser>()->text, "joined the job again");
}

TEST(MemberCuts, dials_at_once_where_the_coordinator_is_now) {
    Node node;
    node.welcome();
    node.assign(0);
    node.did<Member::Connect>();
    node.member.moved(node.now, 1);
    node.listen();
    EXPECT_FALSE(node.did<Member::Connect>()) << "it speaks to that one";
    node.member.moved(node.now, 2);
    node.listen();
    EXPECT_TRUE(node.did<Member::Connect>());
}

TEST(MemberCuts, looks_elsewhere_after_a_second_without_a_first_answer_and_later_more_patiently) {
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
            node.hear(Beat{node.from, beat->number});
        }
    }
    EXPECT_GE(*gaps.begin(), 800ms);
    EXPECT_LE(*gaps.rbegin(), 1'001ms);
    EXPECT_GT(gaps.size(), 20U);
}

TEST(MemberCuts, sends_a_good_bye_when_its_guard_is_dead) {
    Node node;
    node.welcome();
    node.member.gone();
    node.listen();
    EXPECT_TRUE(node.sent<Gone>());
    EXPECT_TRUE(node.did<Member::Disconnect>());
    EXPECT_TRUE(node.member.ended());
}

}  // namespace
}  // namespace dlaunch::rendezvous
