#pragma once
/// A coordinator with simulated nodes: sends their messages, and records the messages to each.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::rendezvous {

using namespace std::chrono_literals;

/// A coordinator and the messages to each node. Node n has connection n + 1.
class Job {
public:
    explicit Job(int min_nodes, int max_nodes, int max_restarts = 0)
        : Job(options(min_nodes, max_nodes, max_restarts)) {}
    /// `earlier`: the config that nodes report, as an earlier coordinator sent it.
    explicit Job(Coordinator::Options options, std::optional<JobConfig> earlier = {})
        : epoch(options.epoch), job(std::move(earlier)), coordinator(std::move(options), now) {}

    static Coordinator::Options options(int min_nodes, int max_nodes, int max_restarts) {
        Coordinator::Options options;
        options.version = "0.1.0";
        options.job_id = "job";
        options.incarnation = 77;
        options.min_nodes = min_nodes;
        options.max_nodes = max_nodes;
        options.restarts.max_restarts = max_restarts;
        return options;
    }
    static ConnectionId connection_of(int node) { return static_cast<ConnectionId>(node + 1); }
    Stamp stamp() const { return {epoch, coordinator.round(), 1}; }

    void send(int node, const Message& message) {
        coordinator.received(now, connection_of(node), message);
        listen();
    }
    void join(int node, std::uint64_t incarnation = 1, std::optional<std::int32_t> claimed = {}) {
        incarnations[node] = incarnation;
        send(node, Hello{"0.1.0", job_id, incarnation});
        Join join;
        join.stamp.incarnation = incarnation;
        join.record = {fmt::format("id{}", node),
                       fmt::format("node{}", node),
                       address.empty() ? fmt::format("10.0.0.{}", node) : address,
                       other_address,
                       4000 + node,
                       blocks.empty() ? std::vector<WorkerBlock>{{0, slots, role}} : blocks,
                       program,
                       "",
                       claimed,
                       node == 0,
                       5000 + node,
                       may_stand_by ? 6000 + node : 0};
        join.own_config = own_config;
        join.job = this->job;
        send(node, join);
    }
    /// Joins with the state of `round` under an earlier coordinator of epoch `from`; its group rank is its number.
    void comes_back(int node, std::int32_t round, std::int32_t group_size, bool alive = true, std::uint64_t from = 1,
                    std::uint64_t incarnation = 1) {
        rejoin(node, round, RunningRound{node, group_size, alive, age}, {from, round, incarnation});
    }
    /// Joins after its workers of `round` were fenced.
    void joins_fenced(int node, std::int32_t round) { rejoin(node, round, {}, {1, -1, 2}); }
    void rejoin(int node, std::int32_t round, std::optional<RunningRound> running, Stamp stamp) {
        incarnations[node] = stamp.incarnation;
        send(node, Hello{"0.1.0", job_id, stamp.incarnation});
        Join join;
        join.stamp = stamp;
        join.record.id = fmt::format("id{}", node);
        join.record.host = fmt::format("node{}", node);
        join.running = running;
        join.last_group_rank = node;
        join.latest_round = round;
        join.job = job ? *job : coordinator.config();
        join.progress = progress;
        join.coordinator = 76;
        join.coordinator_host = earlier_host;
        send(node, join);
    }
    void fails(int node, int status = 3, bool permanent = false) {
        const Cause cause{status, "kind", fmt::format("rank {} exited with {}", node, status), permanent, ""};
        send(node, Report{stamp(), Report::Phase::failed, false, cause});
    }
    void over(int node, bool succeeded = false, std::optional<Cause> cause = {}) {
        send(node, Report{stamp(), Report::Phase::over, succeeded, cause});
    }
    /// The guard, or the node itself, sends Gone.
    void dies(int node, bool returns = false) { send(node, Gone{returns}); }
    void no_more_hosts() {
        coordinator.no_more_hosts(now);
        listen();
    }
    void hangs_up(int node, bool by_fin = true) {
        coordinator.closed(now, connection_of(node), by_fin);
        listen();
    }
    /// Time passes; nodes in `beating` send beats.
    void pass(Milliseconds time, std::vector<int> beating = {}) {
        for (const Time end = now + time; now < end;) {
            now += 50ms;
            for (int node : beating)
                coordinator.received(now, connection_of(node),
                                     Beat{{epoch, coordinator.round(), incarnations.at(node)}, 0});
            coordinator.tick(now);
            listen();
        }
    }
    void listen() {
        for (const auto& action : coordinator.take_actions())
            if (const auto* send = std::get_if<Coordinator::Send>(&action)) {
                for (ConnectionId to : send->to) sent[to].push_back(send->message);
            } else if (const auto* record = std::get_if<Coordinator::Record>(&action)) {
                recorded = record->snapshot;
            } else {
                closed.insert(std::get<Coordinator::Close>(action).connection);
            }
    }
    /// Takes the latest message of a kind to a node.
    template <class T>
    std::optional<T> received(int node) {
        auto& all = sent[connection_of(node)];
        for (auto at = all.rbegin(); at != all.rend(); ++at)
            if (auto* found = std::get_if<T>(&*at)) {
                T copy = *found;
                std::erase_if(all, [](const Message& message) { return std::holds_alternative<T>(message); });
                return copy;
            }
        return std::nullopt;
    }

    /// The texts of all notices to a node, in their order.
    std::vector<std::string> notices(int node) {
        std::vector<std::string> texts;
        for (const Message& message : sent[connection_of(node)])
            if (const auto* notice = std::get_if<Notice>(&message)) texts.push_back(notice->text);
        return texts;
    }

    Time now{1h};
    std::uint64_t epoch = 1;              ///< of the coordinator
    std::optional<JobConfig> own_config;  ///< the job's configuration in every Join; none: the coordinator's options
    std::optional<JobConfig> job;         ///< likewise, as an earlier coordinator sent it
    JobProgress progress;                 ///< likewise
    Milliseconds age{};                   ///< of the round of a rejoining node
    std::string earlier_host;             ///< of the earlier coordinator, in comes_back()
    bool may_stand_by = false;            ///< the nodes that join from now on
    int slots = 2;
    std::vector<WorkerBlock> blocks;  ///< of the nodes that join from now on; empty: one block of `slots`
    std::string job_id = "job", role = "default", program, address, other_address;  ///< likewise
    std::map<ConnectionId, std::vector<Message>> sent;
    std::set<ConnectionId> closed;
    std::map<int, std::uint64_t> incarnations;  ///< of each node
    Snapshot recorded;                          ///< the latest
    Coordinator coordinator;
};

/// The successor that a guard starts: it has the predecessor's latest snapshot.
inline Job replacement_of(const Job& earlier) {
    auto options = Job::options(1, 1, 0);
    options.epoch = earlier.epoch + 1;
    options.succeeds = true;
    options.snapshot = earlier.recorded;
    return Job(std::move(options));
}

/// The successor on another node: it has no snapshot, only the reports of members.
inline Job successor_of(const Job& earlier) {
    auto options = Job::options(1, 1, 0);
    options.epoch = earlier.epoch + 1;
    options.succeeds = true;
    return Job(std::move(options), earlier.coordinator.config());
}

}  // namespace dlaunch::rendezvous
