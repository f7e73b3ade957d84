// The coordinator over loopback: its messages, its clock, its ends; agents are sockets of the test.

#include "rendezvous/coordinate/host.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/unit/rendezvous/rounds/agent_fixture.hpp"
#include "tests/unit/rendezvous/rounds/served_fixture.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

struct Job : Served {
    explicit Job(int nodes, Milliseconds join_timeout = 60s) : Served(options(nodes, join_timeout)) {}

    static Coordinator::Options options(int nodes, Milliseconds join_timeout) {
        Coordinator::Options options;
        options.version = "0.1.0";
        options.job_id = "job";
        options.host = "here";
        options.incarnation = 77;
        options.min_nodes = options.max_nodes = nodes;
        options.join_timeout = join_timeout;
        return options;
    }
};

/// An agent that has sent its greeting and Join.
class Agent : public MessagePeer {
public:
    Agent(const Job& job, int node, const std::string& job_id = "job") : MessagePeer(Peer(job.port())) {
        peer().send(std::string(wire::kGreeting));
        send(Hello{"0.1.0", job_id, 1});
        Join join;
        join.stamp.incarnation = 1;
        join.record.id = fmt::format("id{}", node);
        join.record.host = fmt::format("node{}", node);
        join.record.address = fmt::format("10.0.0.{}", node);
        join.record.store_port = 4000 + node;
        join.beat = 5;
        send(join);
    }
    void over(bool succeeded) { send(Report{{1, 0, 1}, Report::Phase::over, succeeded, std::nullopt}); }
};

TEST(CoordinatorHost, sends_each_agent_its_own_assignment) {
    Job job(2);
    with_clients(job.loop, [&] {
        Agent second(job, 2);
        const auto welcome = second.receive<Welcome>();
        EXPECT_EQ(welcome.host, "here");
        EXPECT_EQ(welcome.beat, 5U);
        EXPECT_EQ(welcome.stamp.incarnation, 77U);
        Agent first(job, 1);
        first.receive<Welcome>();
        const auto at_first = first.receive<Assigned>(), at_second = second.receive<Assigned>();
        EXPECT_EQ(at_first.group_rank, 0);
        EXPECT_EQ(at_second.group_rank, 1);
        EXPECT_EQ(at_first.master_addr, "10.0.0.1");
        EXPECT_EQ(at_second.master_port, 4001);
        second.send(Beat{{1, 0, 1}, 99});
        EXPECT_EQ(second.receive<Beat>().number, 99U);
    });
}

void receive_the_start(const std::vector<Agent*>& agents) {
    for (Agent* agent : agents) {
        agent->receive<Welcome>();
        agent->receive<Assigned>();
    }
}

TEST(CoordinatorHost, evicts_a_node_that_sends_gone) {
    Job job(2);
    with_clients(job.loop, [&] {
        Agent first(job, 1), second(job, 2);
        receive_the_start({&first, &second});
        second.send(Gone{});
        EXPECT_EQ(first.receive<StopRound>().reason, "node2 was lost");
    });
}

TEST(CoordinatorHost, waits_for_a_member_with_a_broken_connection) {
    Job job(2);
    with_clients(job.loop, [&] {
        Agent first(job, 1), second(job, 2);
        receive_the_start({&first, &second});
        second.peer().break_off();
        Agent again(job, 2);  // the same incarnation
        again.receive<Welcome>();
        EXPECT_EQ(again.receive<Assigned>().group_rank, 1);
        first.over(true);
        again.over(true);
        EXPECT_EQ(first.receive<End>().verdict.status, 0);
    });
}

TEST(CoordinatorHost, refuses_another_job_and_closes) {
    Job job(1);
    with_clients(job.loop, [&] {
        Agent other(job, 1, "another");
        const auto refused = other.receive<Refused>();
        EXPECT_EQ(refused.status, 83);
        EXPECT_EQ(refused.reason, "this is job \"another\", the coordinator serves job \"job\"");
        EXPECT_TRUE(other.peer().closed());
    });
}

TEST(CoordinatorHost, closes_store_clients_and_clients_with_invalid_messages) {
    Job job(1);
    with_clients(job.loop, [&] {
        Peer nonsense(job.port());
        nonsense.send(std::string(wire::kGreeting) + wire::hex("41 03000000 010203"));
        EXPECT_TRUE(nonsense.closed());
        Peer torch(job.port());  // a store's client
        torch.send(std::string(wire::kGreeting) + wire::hex("0D 01020304"));
        EXPECT_TRUE(torch.closed());
        Agent agent(job, 1);
        agent.receive<Welcome>();
        agent.receive<Assigned>();
    });
}

TEST(CoordinatorHost, has_a_clock) {
    Job job(2, 20ms);
    with_clients(job.loop, [&] {
        Agent agent(job, 1);
        agent.receive<Welcome>();
        const auto end = agent.receive<End>();
        EXPECT_EQ(end.verdict.status, 80);
        EXPECT_TRUE(end.verdict.reason.ends_with("1 of 2 nodes")) << end.verdict.reason;
    });
}

TEST(CoordinatorHost, sends_much_to_members_that_read_late) {
    Job job(3);
    const std::string record(wire::kMaxRecord, 'r');
    with_clients(job.loop, [&] {
        std::vector<std::unique_ptr<Agent>> agents;
        for (int node : {1, 2, 3}) agents.push_back(std::make_unique<Agent>(job, node));
        for (auto& agent : agents) {
            agent->receive<Welcome>();
            agent->receive<Assigned>();
        }
        agents[0]->send(Report{{1, 0, 1}, Report::Phase::over, false, Cause{9, "kind", "it failed", false, record}});
        for (auto& agent : agents) {
            agent->receive<StopRound>();
            agent->over(false);  // the first node reports it a second time, without an effect
        }
        for (auto& agent : agents) {
            const auto end = agent->receive<End>();
            EXPECT_EQ(end.verdict.status, 9);
            EXPECT_TRUE(end.verdict.records == std::vector<std::string>{record});  // which is too long to be printed
        }
    });
}

TEST(CoordinatorHost, is_finished_when_every_member_has_received_the_verdict) {
    Job job(1);
    std::atomic<bool> finished = false;
    job.host->when_finished([&] {
        finished = true;
        job.loop.stop();
    });
    std::thread thread([&] {
        Agent agent(job, 1);
        agent.receive<Welcome>();
        agent.receive<Assigned>();
        agent.over(true);
        EXPECT_EQ(agent.receive<End>().verdict.status, 0);
        EXPECT_FALSE(finished);
        agent.peer().leave();
    });
    job.loop.run();
    thread.join();
    EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace dlaunch::rendezvous
