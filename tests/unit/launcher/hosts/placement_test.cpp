#include "launcher/hosts/placement.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace dlaunch::launcher {
namespace {

using Kind = WorkerWish::Kind;

std::string spelling(std::string_view option) { return "--" + std::string(option) + "=X"; }

std::vector<SelectedHost> hosts(std::string_view list) {
    std::vector<SelectedHost> selected;
    for (const HostEntry& host : parse_host_list(list).value())
        selected.push_back({host.name, host.user, host.slots, {}});
    return selected;
}

WorkerWish total(int number, std::string_view own = "") {
    return {Kind::total, number, own.empty() ? std::vector<SelectedHost>() : hosts(own)};
}
WorkerWish per_host(std::int64_t number) { return {Kind::per_host, number, {}}; }
WorkerWish by_slots(std::string_view own = "") {
    return {Kind::by_slots, 0, own.empty() ? std::vector<SelectedHost>() : hosts(own)};
}

/// "a=2 b=0:1+1:3": the workers of each context on each host; of a single context without its number.
std::string text(const std::vector<PlacedHost>& placed, bool single) {
    std::string all;
    for (const PlacedHost& host : placed) {
        all += (all.empty() ? "" : " ") + host.host.name + "=";
        for (const Share& share : host.shares)
            all += (&share == host.shares.data() ? "" : "+") + (single ? "" : std::to_string(share.context) + ":") +
                   std::to_string(share.workers);
    }
    return all;
}

std::string placed(std::string_view list, const std::vector<WorkerWish>& contexts,
                   std::optional<NodeLimits> nodes = {}) {
    const auto placement = place({hosts(list), nodes, contexts}, spelling);
    if (!placement) return placement.error().text;
    const bool single = contexts.size() == 1;
    return text(placement->hosts, single) + (placement->spares.empty() ? "" : " | " + text(placement->spares, single));
}

TEST(Placement, SlotsAreTheDefault) {
    EXPECT_EQ(placed("a:2,b:1", {by_slots()}), "a=2 b=1");
    EXPECT_EQ(placed("a,b:3", {by_slots()}), "a=1 b=3");
    EXPECT_EQ(placed("a,b", {by_slots()}), "a=1 b=1");
    EXPECT_EQ(placed("node10:2,node9:1,node2:2", {by_slots()}), "node10=2 node9=1 node2=2") << "in the list's order";
}

TEST(Placement, ANumberPerHost) {
    EXPECT_EQ(placed("a:4,b:4", {per_host(2)}), "a=2 b=2");
    EXPECT_EQ(placed("a,b:3", {per_host(3)}), "a=3 b=3") << "a host without slots has no limit";
    EXPECT_EQ(placed("a:2,b:4", {per_host(3)}),
              "--nproc-per-node=X: 3 workers for 2 free slots of a, expected no more workers than slots");
    EXPECT_EQ(placed("a", {per_host(1'000'000)}),
              "--nproc-per-node=X: 1000000 workers on a, expected at most 65536 on a host");
    EXPECT_EQ(placed("a,b", {{Kind::host_knows, 0, {}}}), "a=0 b=0");
}

TEST(Placement, ATotalFillsSlotsHostByHost) {
    EXPECT_EQ(placed("a:2,b:4", {total(5)}), "a=2 b=3");
    EXPECT_EQ(placed("a:2,b:4", {total(6)}), "a=2 b=4");
    EXPECT_EQ(placed("a:4,b:4,c:4", {total(3)}), "a=3") << "hosts without workers do not start";
    EXPECT_EQ(placed("a,b:3", {total(3)}), "a=1 b=2") << "beside hosts with slots a host without counts 1";
    EXPECT_EQ(placed("a:2,b:4", {total(7)}),
              "--nproc-per-node=X: 7 workers for 6 free slots, expected no more workers than slots");
}

TEST(Placement, HostsWithoutSlotsShareATotalEvenly) {
    EXPECT_EQ(placed("a,b", {total(4)}), "a=2 b=2");
    EXPECT_EQ(placed("a,b", {total(5)}), "a=3 b=2");
    EXPECT_EQ(placed("a,b,c", {total(8)}), "a=3 b=3 c=2");
    EXPECT_EQ(placed("a,b,c", {total(2)}), "a=1 b=1");
    EXPECT_EQ(placed("a", {total(100'000)}),
              "--nproc-per-node=X: 100000 workers for 1 hosts, expected at most 65536 slots on a host");
    EXPECT_FALSE(place({hosts("a,b"), {}, {{Kind::total, std::numeric_limits<std::int64_t>::max(), {}}}}, spelling));
}

TEST(Placement, NodesBeyondNnodesAreSpares) {
    EXPECT_EQ(placed("a,b,c,d", {by_slots()}, NodeLimits{2, 2}), "a=1 b=1 | c=1 d=1");
    EXPECT_EQ(placed("a:2,b:2,c:1", {by_slots()}, NodeLimits{2, 2}), "a=2 b=2 | c=1");
    EXPECT_EQ(placed("a,b,c", {per_host(4)}, NodeLimits{2, 2}), "a=4 b=4 | c=4");
    EXPECT_EQ(placed("a,b", {by_slots()}, NodeLimits{3, 3}),
              "--nnodes=X: 3 nodes, expected at most 2, the number of hosts");
    EXPECT_NE(placed("a,b,c:1", {per_host(2)}, NodeLimits{2, 2}), "a=2 b=2") << "a spare needs the slots, too";
}

TEST(Placement, ElasticJobs) {
    const auto nodes = [](std::string_view list, NodeLimits limits) {
        const auto placement = place({hosts(list), limits, {by_slots()}}, spelling).value();
        return std::pair(placement.nodes.min, placement.nodes.max);
    };
    EXPECT_EQ(nodes("a,b,c", {2, 3}), (std::pair(2, 3)));
    EXPECT_EQ(nodes("a,b,c", {2, 8}), (std::pair(2, 3))) << "there are no more hosts to wait for";
    EXPECT_EQ(nodes("a,b,c,d", {1, 2}), (std::pair(1, 2)));
    EXPECT_EQ(placed("a,b", {total(2)}, NodeLimits{1, 2}),
              "--nproc-per-node=X: expected a fixed --nnodes with -n, or --nproc-per-node for an elastic job");
    const auto fixed = place({hosts("a:2,b:2,c:2"), {}, {total(3)}}, spelling).value();
    EXPECT_EQ(std::pair(fixed.nodes.min, fixed.nodes.max), (std::pair(2, 2))) << "the hosts that have workers";
}

TEST(Placement, ATotalOnANumberOfNodesIsSharedEvenly) {
    EXPECT_EQ(placed("a:4,b:4,c:4", {total(6)}, NodeLimits{3, 3}), "a=2 b=2 c=2");
    EXPECT_EQ(placed("a:1,b:4,c:4", {total(8)}, NodeLimits{3, 3}), "a=1 b=4 c=3");
    EXPECT_EQ(placed("a:4,b:4,c:2", {total(6)}, NodeLimits{2, 2}), "a=3 b=3 | c=2");
    EXPECT_EQ(placed("a,b,c", {total(5)}, NodeLimits{2, 2}), "a=3 b=2 | c=3");
    EXPECT_EQ(placed("a,b,c", {total(2)}, NodeLimits{3, 3}),
              "--nproc-per-node=X: workers for 2 of 3 nodes, expected one worker per node at least");
    EXPECT_EQ(placed("a:2,b:2,c:9", {total(5)}, NodeLimits{2, 2}),
              "--nproc-per-node=X: 5 workers for 4 free slots, expected no more workers than slots");
}

TEST(Placement, ContextsFillTheSlotsOfTheJobInOrder) {
    EXPECT_EQ(placed("a:2,b:2", {total(1), total(3)}), "a=0:1+1:1 b=1:2");
    EXPECT_EQ(placed("a:2,b:2", {total(2), total(2)}), "a=0:2 b=1:2");
    EXPECT_EQ(placed("a,b", {total(1), total(4)}), "a=0:1+1:2 b=1:2");
    EXPECT_EQ(placed("a:3,b:3", {per_host(1), total(3)}), "a=0:1+1:2 b=0:1+1:1");
    EXPECT_EQ(placed("a:4,b:2", {total(1), by_slots()}), "a=0:1+1:3 b=1:2") << "what is free";
    EXPECT_EQ(placed("a:2,b:2", {total(3), total(2)}),
              "-n of the program number 2: 2 workers for 1 free slot, expected no more workers than slots");
    EXPECT_EQ(placed("a:2", {by_slots(), by_slots()}),
              "--nproc-per-node=X: no slots are left for the program number 2, expected more slots or -n");
}

TEST(Placement, ContextsOnANumberOfNodes) {
    EXPECT_EQ(placed("a:4,b:4,c:4", {total(1), total(5)}, NodeLimits{3, 3}), "a=0:1+1:1 b=1:2 c=1:2");
    EXPECT_EQ(placed("a:4,b:4", {per_host(1), total(4)}, NodeLimits{2, 2}), "a=0:1+1:2 b=0:1+1:2");
    EXPECT_EQ(placed("a:4,b:4", {by_slots(), total(4)}, NodeLimits{2, 2}), "a=0:2+1:2 b=0:2+1:2");
}

TEST(Placement, ContextsOnHostsOfTheirOwn) {
    EXPECT_EQ(placed("na", {total(1), total(4, "nb:2,nc:2")}), "na=0:1 nb=1:2 nc=1:2");
    EXPECT_EQ(placed("na:4", {total(1), total(2, "na:4,nb:4")}), "na=0:1+1:2") << "one node";
    EXPECT_EQ(placed("na,nx", {by_slots("nc:2"), by_slots("nb,nc:1")}), "nc=0:2+1:1 nb=1:1")
        << "unused hosts do not start";
    EXPECT_EQ(placed("na", {total(1), total(1, "bob@na")}),
              "host na with the users (none) and bob, expected one user per host");
    EXPECT_EQ(placed("na", {total(1), total(1, "nb")}, NodeLimits{1, 1}),
              "--nnodes=X: expected no number of nodes where several programs have --hosts of their own");
}

}  // namespace
}  // namespace dlaunch::launcher
