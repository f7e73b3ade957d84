// A job of one node: the orders that the agent receives when its rounds end as scripted.

#include "agent/membership/job_membership.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

/// A node with scripted ends of its rounds, one entry per round.
struct Node {
    explicit Node(Plan given) : plan(std::move(given)) {}

    JobVerdict run(std::vector<RoundResult> ends) {
        WorkerStore store(loop, [this](const std::string& text) { printed.push_back(text); });
        JobMembership membership(loop, plan, "node1", guard, store, nullptr);
        JobVerdict verdict;
        membership.join(
            {[&](const Assignment& assignment) {
                 rounds.push_back(assignment);
                 runs = true;
                 store.prepare(assignment);
                 const auto round = static_cast<std::size_t>(assignment.round);
                 if (fails_first) membership.failed(ends.at(round).failures.front());
                 if (leave_in == assignment.round) membership.leave(LeaveReason::signal, 143, "SIGTERM received");
                 after_turns(turns_before_end, [this, &membership, end = ends.at(round)] {
                     runs = false;
                     membership.round_over(end);
                 });
             },
             [&](const std::string&, const auto&, int) { late_stops += runs ? 0 : 1; },
             [&](const std::string& text, const std::string&, const std::string&) { printed.push_back(text); },
             [&](const JobVerdict& end) {
                 verdict = end;
                 loop.stop();
             }});
        loop.run();
        return verdict;
    }

    void after_turns(int turns, std::function<void()> call) {
        if (turns == 0) return call();
        loop.post([this, turns, call = std::move(call)]() mutable { after_turns(turns - 1, std::move(call)); });
    }

    Plan plan;
    base::Loop loop;
    GuardLink guard;
    int turns_before_end = 0;
    bool runs = false;   ///< a round
    int late_stops = 0;  ///< orders to stop that were received while no round ran
    std::vector<Assignment> rounds;
    std::vector<std::string> printed;
    int leave_in = -1;
    bool fails_first = false;
};

Plan plan_with(int max_restarts) {
    Plan plan;
    plan.contexts[0].workers = 3;
    plan.restarts.max_restarts = max_restarts;
    plan.restarts.first = plan.restarts.most = 1ms;
    return plan;
}

RoundResult well() { return {.succeeded = true}; }

RoundResult badly(ExitKind how, int code, int signal = 0) {
    Failure failure;
    failure.rank = 1;
    failure.how = how;
    failure.permanent = how == ExitKind::not_executed;
    failure.code = code;
    failure.signal = signal;
    return {.succeeded = false, .failures = {failure}, .lasted = 5ms};
}

TEST(OneNode, one_round_that_succeeds) {
    Node node(plan_with(0));
    EXPECT_EQ(node.run({well()}).status, 0);
    ASSERT_EQ(node.rounds.size(), 1U);
    const Assignment& round = node.rounds[0];
    EXPECT_EQ(round.world_size, 3);
    EXPECT_EQ(round.group_world_size, 1);
    EXPECT_EQ(round.ranks.rank(0), 0);
    EXPECT_EQ(round.master_addr, "127.0.0.1");
    EXPECT_GT(round.master_port, 0);
    EXPECT_GT(round.jax_port, 0);
    EXPECT_NE(round.jax_port, round.master_port);
    EXPECT_EQ(round.restart_reason, "");
}

TEST(OneNode, a_failure_is_restarted_and_counted) {
    Node node(plan_with(2));
    EXPECT_EQ(node.run({badly(ExitKind::exited, 3), well()}).status, 0);
    ASSERT_EQ(node.rounds.size(), 2U);
    EXPECT_EQ(node.rounds[1].round, 1);
    EXPECT_EQ(node.rounds[1].restart_count, 1);
    EXPECT_NE(node.rounds[1].master_port, node.rounds[0].master_port);
    EXPECT_NE(node.rounds[1].jax_port, node.rounds[0].jax_port);
    EXPECT_NE(node.rounds[1].restart_reason, "");
    EXPECT_EQ(node.printed.size(), 1U);
}

TEST(OneNode, the_last_failure_decides_the_status) {
    Node node(plan_with(1));
    EXPECT_EQ(node.run({badly(ExitKind::exited, 3), badly(ExitKind::signalled, 0, 11)}).status, 139);
}

TEST(OneNode, an_order_to_stop_a_failed_round_does_not_reach_the_next) {
    Plan plan = plan_with(1);
    plan.restarts.first = plan.restarts.most = 0ms;  // the next round begins in the turn in which the order is due
    for (int turns = 0; turns < 8; ++turns) {
        Node node(plan);
        node.fails_first = true;
        node.turns_before_end = turns;
        EXPECT_EQ(node.run({badly(ExitKind::exited, 3), badly(ExitKind::exited, 4)}).status, 4);
        EXPECT_EQ(node.late_stops, 0) << turns;
    }
}

TEST(OneNode, a_worker_that_cannot_be_executed_is_not_restarted) {
    Node node(plan_with(5));
    EXPECT_EQ(node.run({badly(ExitKind::not_executed, 127)}).status, 127);
    EXPECT_EQ(node.rounds.size(), 1U);
}

TEST(OneNode, a_temporary_shortage_is_restarted) {
    RoundResult no_process = badly(ExitKind::not_executed, 126);
    no_process.failures.front().permanent = false;
    Node node(plan_with(1));
    EXPECT_EQ(node.run({no_process, no_process}).status, 126);
    EXPECT_EQ(node.rounds.size(), 2U);
}

TEST(OneNode, a_crash_loop_gives_up) {
    Plan plan = plan_with(100);
    plan.restarts.crash_loop = 3;
    Node node(plan);
    EXPECT_EQ(node.run(std::vector<RoundResult>(100, badly(ExitKind::exited, 3))).status, exit_status::kGiveUp);
    EXPECT_EQ(node.rounds.size(), 3U);
}

TEST(OneNode, a_leave_is_not_restarted) {
    Node node(plan_with(5));
    node.leave_in = 0;
    const JobVerdict verdict = node.run({badly(ExitKind::exited, 3)});
    EXPECT_EQ(verdict.status, 143);
    EXPECT_EQ(verdict.reason, "SIGTERM received");
    EXPECT_EQ(node.rounds.size(), 1U);
}

TEST(OneNode, a_leave_after_the_failure_that_ends_the_job_changes_nothing) {
    Node node(plan_with(1));
    node.leave_in = 1;
    node.fails_first = true;
    EXPECT_EQ(node.run({badly(ExitKind::exited, 3), badly(ExitKind::exited, 4)}).status, 4);
}

TEST(OneNode, a_leave_after_a_failure_prevents_its_restart) {
    Node node(plan_with(1));
    node.leave_in = 0;
    node.fails_first = true;
    EXPECT_EQ(node.run({badly(ExitKind::exited, 3)}).status, 143);
}

TEST(OneNode, an_endpoint_on_loopback_has_its_store_there) {
    Plan plan = plan_with(0);
    plan.rendezvous.backend = Backend::c10d;
    plan.rendezvous.endpoints.places = {{"localhost", 0}};
    plan.rendezvous.standalone = false;
    Node node(plan);
    EXPECT_EQ(node.run({well()}).status, 0);
    EXPECT_EQ(node.rounds.at(0).master_addr, "127.0.0.1");
}

TEST(OneNode, a_port_in_use_is_refused_by_name) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    Plan plan = plan_with(0);
    plan.rendezvous.master_port = ntohs(address.sin_port);
    Node node(plan);
    const JobVerdict verdict = node.run({});
    EXPECT_TRUE(node.rounds.empty());
    EXPECT_EQ(verdict.status, exit_status::kUsage);
    EXPECT_NE(verdict.reason.find(std::to_string(ntohs(address.sin_port))), std::string::npos);
    EXPECT_NE(verdict.reason.find("in use"), std::string::npos);
    close(listener);
}

}  // namespace
}  // namespace dlaunch::agent
