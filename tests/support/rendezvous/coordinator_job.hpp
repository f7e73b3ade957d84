#pragma once
/// A coordinator between made-up nodes: what they say, and what each of them hears.

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::rendezvous {

using namespace std::chrono_literals;

/// A coordinator and what it says to whom. Node n is on connection n + 1.
class Job {
public:
    explicit Job(int min_nodes, int max_nodes, int max_restarts = 0)
        : Job(options(min_nodes, max_nodes, max_restarts)) {}
    explicit Job(Coordinator::Options options) : coordinator(std::move(options), now) {}

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
    Stamp stamp() const { return {1, coordinator.round(), 1}; }

    void say(int node, const Message& message) {
        coordinator.received(now, connection_of(node), message);
        listen();
    }
    void join(int node, std::uint64_t incarnation = 1, std::optional<std::int32_t> claimed = {}) {
        say(node, Hello{"0.1.0", job_id, incarnation});
        Join join;
        join.stamp.incarnation = incarnation;
        join.record = {fmt::format("id{}", node),
                       fmt::format("node{}", node),
                       address.empty() ? fmt::format("10.0.0.{}", node) : address,
                       other_address,
                       4000 + node,
                       2,
                       role,
                       program,
                       "",
                       claimed,
                       node == 0};
        join.terms = terms;
        say(node, join);
    }
    void fails(int node, int status = 3, bool permanent = false) {
        const Cause cause{status, "kind", fmt::format("rank {} exited with {}", node, status), permanent, ""};
        say(node, Report{stamp(), Report::Phase::failed, false, cause});
    }
    void over(int node, bool succeeded = false, std::optional<Cause> cause = {}) {
        say(node, Report{stamp(), Report::Phase::over, succeeded, cause});
    }
    void hangs_up(int node, bool by_its_end = true) {
        coordinator.closed(now, connection_of(node), by_its_end);
        listen();
    }
    /// Time passes; nodes in `beating` are heard.
    void pass(Milliseconds time, std::vector<int> beating = {}) {
        for (const Time end = now + time; now < end;) {
            now += 50ms;
            for (int node : beating)
                coordinator.received(now, connection_of(node), Beat{{1, coordinator.round(), 1}, 0});
            coordinator.tick(now);
            listen();
        }
    }
    void listen() {
        for (const auto& action : coordinator.take_actions())
            if (const auto* send = std::get_if<Coordinator::Send>(&action))
                for (ConnectionId to : send->to) said[to].push_back(send->message);
    }
    /// The latest message of a kind that a node heard, which is then forgotten.
    template <class T>
    std::optional<T> heard(int node) {
        auto& all = said[connection_of(node)];
        for (auto at = all.rbegin(); at != all.rend(); ++at)
            if (auto* found = std::get_if<T>(&*at)) {
                T copy = *found;
                std::erase_if(all, [](const Message& message) { return std::holds_alternative<T>(message); });
                return copy;
            }
        return std::nullopt;
    }

    Time now{1h};
    std::optional<Terms> terms;                                                     ///< of those who join
    std::string job_id = "job", role = "default", program, address, other_address;  ///< likewise
    std::map<ConnectionId, std::vector<Message>> said;
    Coordinator coordinator;
};

}  // namespace dlaunch::rendezvous
