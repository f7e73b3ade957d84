// Nodes of one job in one process, each with its own membership, over loopback: the orders to their agents.

#include "agent/membership/job_membership.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/coordinate/host.hpp"
#include "rendezvous/coordinate/record_file.hpp"
#include "rendezvous/store/client/tcp_store.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

/// A loopback address that no other process of this machine uses, where the coordinator can be found.
std::string own_endpoint() {
    static int port = 20'000;
    const int pid = getpid();
    return fmt::format("127.{}.{}.{}:{}", 1 + pid / 62'500 % 250, pid / 250 % 250, 1 + pid % 250, ++port);
}

Failure failed_with(int code, int rank, const std::string& host) {
    Failure failure;
    failure.rank = rank;
    failure.host = host;
    failure.pid = 4711;
    failure.code = code;
    return failure;
}

/// One node. `on_start` acts for its workers, which stop at once when ordered to.
class Node {
    base::Loop& loop_;
    std::string name_;
    Plan plan_;
    GuardLink guard_;
    WorkerStore store_{loop_, [this](const std::string& text) { printed.push_back(text); }};

public:
    Node(base::Loop& loop, std::string name, Plan plan) : loop_(loop), name_(std::move(name)), plan_(std::move(plan)) {
        membership = std::make_unique<JobMembership>(
            loop_, plan_, name_, guard_, store_,
            [this](const rendezvous::CoordinatorJob& job, std::vector<store::Listener> listeners) {
                return host_here(job, std::move(listeners));
            });
    }

    void join() {
        membership->join({[this](const Assignment& assignment) {
                              rounds.push_back(assignment);
                              runs = true;
                              store_.prepare(assignment);
                              if (on_start) on_start(*this);
                          },
                          [this](const std::string& reason, const auto&, int signal) {
                              stop_signal = signal;
                              stopped(reason);
                          },
                          [this](const std::string& text, const std::string& cause, const std::string&) {
                              printed.push_back(cause.empty() ? text : cause + ": " + text);
                          },
                          [this](const JobVerdict& how) {
                              verdict = how;
                              if (on_end) on_end();
                          },
                          [this](const std::string& reason) { stopped(reason); }});
    }
    void succeed() { over({.succeeded = true}); }
    void fail(const Failure& failure) {
        membership->failed(failure);
        over({.succeeded = false, .failures = {failure}});
    }
    [[nodiscard]] const Assignment& latest() const { return rounds.back(); }
    /// The coordinator exits. `verdict` is in its record.
    void end_coordinator(const rendezvous::Verdict& ending) {
        rendezvous::Snapshot snapshot;
        snapshot.verdict = ending;
        auto record = rendezvous::make_memory_file("record", {});
        ASSERT_TRUE(record && rendezvous::write_record(record->get(), wire::encode(snapshot)));
        guard_.keep_record(record->get());
        listening.reset();
        coordinator_.reset();
    }

    std::unique_ptr<JobMembership> membership;
    std::vector<Assignment> rounds;
    std::vector<std::string> printed, stops;
    int stop_signal = -1;  ///< of the latest order to stop
    std::optional<JobVerdict> verdict;
    std::function<void(Node&)> on_start;
    std::function<void()> on_end;
    base::UniqueFd listening;  ///< a copy of the coordinator's socket, as its guard has one
    bool runs = false;

private:
    /// Runs the coordinator in this process; an agent makes its guard start one.
    base::Result<void> host_here(const rendezvous::CoordinatorJob& job, std::vector<store::Listener> listeners) {
        auto options = job.options;
        options.incarnation = 1;
        listening.reset(fcntl(listeners.front().socket.get(), F_DUPFD_CLOEXEC, 0));
        auto host = rendezvous::CoordinatorHost::adopt(loop_, std::move(listeners.front().socket), std::move(options));
        if (!host) return host.error();
        coordinator_ = std::move(*host);
        return {};
    }
    std::unique_ptr<rendezvous::CoordinatorHost> coordinator_;

    void stopped(const std::string& reason) {
        stops.push_back(reason);
        if (runs) over({.succeeded = false});
    }
    void over(const RoundResult& end) {
        runs = false;
        membership->round_over(end);
    }
};

/// node1 hosts the coordinator.
struct Job {
    explicit Job(int count, int max_restarts = 0) : Job(count, count, count, max_restarts) {}
    Job(int count, int min_nodes, int max_nodes, int max_restarts) {
        plan.contexts[0].workers = 2;
        plan.restarts.max_restarts = max_restarts;
        plan.restarts.first = plan.restarts.most = 1ms;
        plan.rendezvous.standalone = false;
        plan.rendezvous.backend = Backend::c10d;
        plan.rendezvous.endpoint = own_endpoint();
        plan.rendezvous.endpoints = *rendezvous::parse_endpoints(plan.rendezvous.endpoint, 0);
        plan.rendezvous.job_id = "job";
        plan.rendezvous.min_nodes = min_nodes;
        plan.rendezvous.max_nodes = max_nodes;
        for (int number = 1; number <= count; ++number) {
            Plan its = plan;
            if (number > 1) its.rendezvous.is_host = false;  // all have its address: the first node hosts
            add(fmt::format("node{}", number), its);
        }
    }
    Node& add(const std::string& name, const Plan& its_plan) {
        nodes.push_back(std::make_unique<Node>(loop, name, its_plan));
        nodes.back()->on_end = [this] {
            if (std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return !node || node->verdict; }))
                loop.stop();
        };
        return *nodes.back();
    }
    /// Runs until every node has its verdict.
    void run(const std::function<void(Node&)>& on_start = {}) {
        for (auto& node : nodes) {
            node->on_start = on_start;
            node->join();
        }
        loop.run();
    }
    Node& operator[](std::size_t which) { return *nodes[which]; }
    [[nodiscard]] std::vector<int> statuses() const {
        std::vector<int> found;
        for (const auto& node : nodes) found.push_back(node->verdict->status);
        return found;
    }

    base::Loop loop;
    Plan plan;
    std::vector<std::unique_ptr<Node>> nodes;
};

TEST(JobMembership, nodes_agree_on_a_world) {
    Job job(3);
    job.run([](Node& node) { node.succeed(); });
    EXPECT_EQ(job.statuses(), (std::vector<int>{0, 0, 0}));
    for (int rank = 0; rank < 3; ++rank) {
        const Assignment& round = job[static_cast<std::size_t>(rank)].rounds.at(0);
        EXPECT_EQ(round.group_rank, rank);
        EXPECT_EQ(round.group_world_size, 3);
        EXPECT_EQ(round.ranks.rank(0), 2 * rank);
        EXPECT_EQ(round.world_size, 6);
        EXPECT_EQ(round.round, 0);
        EXPECT_EQ(round.store.kind == StoreDuty::Kind::none, rank != 0) << "group rank 0 serves it";
        EXPECT_EQ(round.master_addr, job[0].rounds[0].master_addr);
        EXPECT_EQ(round.master_port, job[0].rounds[0].master_port);
        EXPECT_EQ(round.jax_port, job[0].rounds[0].jax_port);
    }
}

TEST(JobMembership, each_round_has_an_empty_store) {
    Job job(2, 1);
    std::vector<std::int64_t> keys;
    job.run([&](Node& node) {
        const Assignment& round = node.latest();
        if (round.group_rank != 0) return round.round == 1 ? node.succeed() : void();
        const auto soon = base::Clock::now() + 20s;
        auto store = store::TcpStore::connect(round.master_addr, round.master_port, soon);
        ASSERT_TRUE(store) << store.error().text;
        keys.push_back((*store)->num_keys(soon).value());
        EXPECT_TRUE((*store)->set("left", "behind", soon));
        round.round == 1 ? node.succeed() : node.fail(failed_with(3, 0, "node1"));
    });
    EXPECT_EQ(job.statuses(), (std::vector<int>{0, 0}));
    EXPECT_EQ(keys.size(), 2U);
    EXPECT_EQ(keys[0], keys[1]) << "nothing of the first round is there";
    EXPECT_NE(job[1].rounds.at(0).master_port, job[1].rounds.at(1).master_port);
    EXPECT_NE(job[1].rounds.at(0).jax_port, job[1].rounds.at(1).jax_port);
}

TEST(JobMembership, a_failure_stops_the_peers_and_all_restart) {
    Job job(2, 1);
    job.run([](Node& node) {
        if (node.latest().round == 1) return node.succeed();
        if (node.latest().group_rank == 1) node.fail(failed_with(3, 2, "node2"));
    });
    EXPECT_EQ(job.statuses(), (std::vector<int>{0, 0}));
    ASSERT_EQ(job[0].stops.size(), 1U);
    EXPECT_EQ(job[0].stops[0], "rank 2 (node2, pid 4711) exited with 3 after 0 ms");
    EXPECT_TRUE(job[1].stops.empty());
    const std::string line =
        "rank 2 (node2, pid 4711) exited with 3 after 0 ms: restarting all workers (restart 1 of 1)";
    EXPECT_EQ(std::ranges::count(job[0].printed, line), 1);
    EXPECT_EQ(std::ranges::count(job[0].printed, job[0].stops[0]), 0) << "a quick stop needs no line of its own";
    for (auto& node : job.nodes) {
        ASSERT_EQ(node->rounds.size(), 2U);
        EXPECT_EQ(node->rounds[1].restart_count, 1);
        EXPECT_EQ(node->rounds[1].restart_reason, "rank 2 (node2, pid 4711) exited with 3 after 0 ms");
    }
}

TEST(JobMembership, the_last_failure_ends_all_nodes_with_one_status) {
    Job job(3);
    job.run([](Node& node) {
        if (node.latest().group_rank == 1) node.fail(failed_with(41, 2, "node2"));
    });
    EXPECT_EQ(job.statuses(), (std::vector<int>{41, 41, 41}));
    for (auto& node : job.nodes) {
        ASSERT_TRUE(node->verdict->failures);
        ASSERT_EQ(node->verdict->failures->size(), 1U);
        EXPECT_EQ(node->verdict->failures->front().host, "node2");
        EXPECT_EQ(node->verdict->failures->front().code, 41);
    }
}

TEST(JobMembership, a_worker_that_cannot_be_executed_is_not_restarted) {
    Job job(2, 5);
    job.run([](Node& node) {
        Failure failure = failed_with(127, 0, "node1");
        failure.how = ExitKind::not_executed;
        failure.permanent = true;
        if (node.latest().group_rank == 0) node.fail(failure);
    });
    EXPECT_EQ(job.statuses(), (std::vector<int>{127, 127}));
    EXPECT_EQ(job[1].rounds.size(), 1U);
}

TEST(JobMembership, a_leave_ends_a_job_that_needs_every_node) {
    Job job(2);
    int started = 0;
    job.run([&](Node&) {
        if (++started == 2) job[1].membership->leave(LeaveReason::signal, 143, "SIGTERM received");
        if (started == 2 && job[1].runs) job[1].succeed();
    });
    EXPECT_EQ(job.statuses(), (std::vector<int>{143, 143}));
    EXPECT_EQ(job[0].stop_signal, 15);
}

TEST(JobMembership, an_elastic_job_continues_after_a_leave) {
    Job job(3, 2, 3, 0);
    int started = 0;
    job.run([&](Node& node) {
        if (node.latest().group_world_size == 2) return node.succeed();
        if (++started < 3) return;
        job[2].membership->leave(LeaveReason::signal, 143, "SIGTERM received");
        job[2].succeed();
    });
    EXPECT_EQ(job.statuses(), (std::vector<int>{0, 0, 143}));
    EXPECT_EQ(job[0].latest().restart_count, 0);
    EXPECT_EQ(job[0].stop_signal, 0);
}

TEST(JobMembership, another_job_is_refused) {
    Job job(0, 1, 2, 0);
    Plan plan = job.plan;
    plan.rendezvous.last_call = 0ms;
    job.add("node1", plan);
    plan.rendezvous.job_id = "another";
    plan.rendezvous.is_host = false;
    Node& other = job.add("node2", plan);
    job[0].on_start = [&](Node&) { other.join(); };
    other.on_end = [&] { job[0].succeed(); };
    job[0].join();
    job.loop.run();
    EXPECT_EQ(other.verdict->status, 83);
    EXPECT_NE(other.verdict->reason.find("\"another\""), std::string::npos);
    EXPECT_EQ(job[0].verdict->status, 0);
}

TEST(JobMembership, too_few_nodes_end_with_80) {
    Job job(0, 2, 2, 0);
    Plan plan = job.plan;
    plan.rendezvous.join_timeout = 50ms;
    job.add("node1", plan);
    job.run();
    EXPECT_EQ(job[0].verdict->status, 80);
    EXPECT_NE(job[0].verdict->reason.find("1 of 2 nodes"), std::string::npos) << job[0].verdict->reason;
}

TEST(JobMembership, a_lost_coordinator_ends_its_members_with_81) {
    Job job(2);
    int started = 0;
    job.run([&](Node&) {
        if (++started == 2) job.loop.post([&] { job.nodes[0].reset(); });
    });
    EXPECT_EQ(job[1].verdict->status, 81);
    EXPECT_NE(job[1].verdict->reason.find("the coordinator on node1"), std::string::npos) << job[1].verdict->reason;
    EXPECT_FALSE(job[1].runs);
}

TEST(JobMembership, the_node_of_a_coordinator_that_has_exited_ends_with_the_recorded_verdict) {
    Job job(2);
    int started = 0;
    job.run([&](Node&) {
        if (++started == 2) job.loop.post([&] { job.nodes[0]->end_coordinator({80, "node2 was lost", {}}); });
    });
    EXPECT_EQ(job[0].verdict->status, 80);
    EXPECT_EQ(job[0].verdict->reason, "node2 was lost");
    EXPECT_FALSE(job[0].runs);
    EXPECT_EQ(job[1].verdict->status, 81);
}

/// Fills the backlog of a socket without a listening process. Dials are then neither accepted nor refused, as by a
/// node that is down.
std::vector<base::UniqueFd> fill_backlog(int listener) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(listener, 0), 0);
    std::vector<base::UniqueFd> pending;
    for (bool accepted = true; accepted;) {
        pending.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        connect(pending.back().get(), reinterpret_cast<const sockaddr*>(&address), size);
        pollfd connected{pending.back().get(), POLLOUT, 0};
        accepted = poll(&connected, 1, 0) == 1;
    }
    return pending;
}

TEST(JobMembership, a_coordinator_that_closed_and_accepts_nothing_is_lost_when_the_lease_ends) {
    Job job(0, 2, 2, 0);
    job.plan.rendezvous.node_timeout = 2s;
    Node& first = job.add("node1", job.plan);
    job.plan.rendezvous.is_host = false;
    job.add("node2", job.plan);
    base::UniqueFd listening;
    std::vector<base::UniqueFd> pending;
    int started = 0;
    const auto start = base::Clock::now();
    job.run([&](Node&) {
        if (++started < 2) return;
        listening = std::move(first.listening);
        job.loop.post([&] {
            job.nodes[0].reset();
            pending = fill_backlog(listening.get());
        });
    });
    EXPECT_EQ(job[1].verdict->status, 81);
    EXPECT_NE(job[1].verdict->reason.find("the coordinator on node1"), std::string::npos) << job[1].verdict->reason;
    EXPECT_LT(base::Clock::now() - start, 20s) << "far below rejoin_timeout";
}

TEST(JobMembership, the_store_is_where_the_user_named_it) {
    Job job(0, 1, 1, 0);
    Plan plan = job.plan;
    const std::string endpoint = own_endpoint();
    plan.rendezvous.backend = Backend::fixed_address;
    plan.rendezvous.endpoint.clear();
    plan.rendezvous.endpoints = *rendezvous::parse_endpoints(endpoint, 0);
    plan.rendezvous.master_addr = plan.rendezvous.endpoints.places.front().host;
    plan.rendezvous.master_port = plan.rendezvous.endpoints.places.front().port;
    plan.rendezvous.node_rank = 0;
    job.add("node1", plan);
    job.run([&](Node& node) {
        EXPECT_EQ(node.latest().master_addr, plan.rendezvous.master_addr);
        EXPECT_EQ(node.latest().master_port, plan.rendezvous.master_port);
        EXPECT_EQ(node.latest().store.kind == StoreDuty::Kind::none, node.latest().group_rank != 0);
        node.succeed();
    });
    EXPECT_EQ(job[0].verdict->status, 0);
}

}  // namespace
}  // namespace dlaunch::agent
