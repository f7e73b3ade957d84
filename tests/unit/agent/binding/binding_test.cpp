#include "agent/binding/binding.hpp"
#include "rendezvous/base/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlaunch::agent {
namespace {

using Bound = std::vector<std::string>;

struct Shape {
    int packages = 1, nodes_each = 1, l3_each = 1, cores_each = 1, threads = 1;
};

/// Linux's numbering of processors on most servers: first one thread of every core, then the siblings.
Topology machine(const Shape& shape, std::vector<int> gpu_numa = {}) {
    Topology topology;
    topology.gpu_numa = std::move(gpu_numa);
    const int cores = shape.packages * shape.nodes_each * shape.l3_each * shape.cores_each;
    for (int thread = 0; thread < shape.threads; ++thread)
        for (int core = 0; core < cores; ++core) {
            const int l3 = core / shape.cores_each, numa = l3 / shape.l3_each;
            topology.units.push_back({thread * cores + core, core, numa, numa / shape.nodes_each, l3});
        }
    return topology;
}

Bound bind(const Topology& topology, Binding strategy, int workers) {
    Bound text;
    const auto bound = bind_workers(topology, strategy, workers);
    if (!bound) return {bound.error().text};
    for (const auto& units : *bound) text.push_back(base::number_ranges(units));
    return text;
}

/// Two sockets, two nodes each, two L3 groups of two cores each, two threads: cores 0-15, siblings 16-31.
const Shape kServer{2, 2, 2, 2, 2};

TEST(BindNone, LeavesAllWorkersUnbound) {
    EXPECT_EQ(bind(machine(kServer), Binding::none, 3), (Bound{"", "", ""}));
    EXPECT_EQ(bind({}, Binding::none, 1), (Bound{""}));
}

TEST(BindCores, DealsWholeCoresOutEvenly) {
    EXPECT_EQ(bind(machine(kServer), Binding::cores, 1), (Bound{"0-31"}));
    EXPECT_EQ(bind(machine(kServer), Binding::cores, 4),
              (Bound{"0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"}));
    EXPECT_EQ(bind(machine({1, 1, 1, 4, 1}), Binding::cores, 4), (Bound{"0", "1", "2", "3"}));
}

TEST(BindCores, GivesTheFirstWorkersTheRemainingCores) {
    EXPECT_EQ(bind(machine({1, 1, 1, 8, 1}), Binding::cores, 3), (Bound{"0-2", "3-5", "6-7"}));
}

TEST(BindCores, SharesCoresAmongTooManyWorkers) {
    EXPECT_EQ(bind(machine({1, 1, 1, 2, 2}), Binding::cores, 5), (Bound{"0,2", "0,2", "0,2", "1,3", "1,3"}));
}

TEST(BindCores, StaysWithinTheNodeOfTheGpu) {
    EXPECT_EQ(bind(machine(kServer, {3, 3, 0}), Binding::cores, 3), (Bound{"12-13,28-29", "14-15,30-31", "0-3,16-19"}));
}

TEST(BindCores, UsesOnlyTheAffinityMaskOfThisProcess) {
    Topology topology = machine({1, 1, 1, 4, 2});
    // Both threads of core 1, one of core 3.
    std::erase_if(topology.units, [](const ProcessingUnit& unit) {
        return unit.os_index != 1 && unit.os_index != 5 && unit.os_index != 7;
    });
    EXPECT_EQ(bind(topology, Binding::cores, 2), (Bound{"1,5", "7"}));
}

TEST(BindNuma, SpreadsWorkersOverTheNodes) {
    EXPECT_EQ(bind(machine(kServer), Binding::numa, 4), (Bound{"0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"}));
    EXPECT_EQ(bind(machine(kServer), Binding::numa, 2), (Bound{"0-3,16-19", "8-11,24-27"}));
    EXPECT_EQ(bind(machine({2, 1, 1, 4, 1}), Binding::numa, 4), (Bound{"0-3", "0-3", "4-7", "4-7"}));
}

TEST(BindNuma, FollowsTheGpus) {
    EXPECT_EQ(bind(machine(kServer, {2, 2, 0, 1}), Binding::numa, 4),
              (Bound{"8-11,24-27", "8-11,24-27", "0-3,16-19", "4-7,20-23"}));
}

TEST(BindNuma, SpreadsWorkersOfGpusWithoutANode) {
    EXPECT_EQ(bind(machine({2, 1, 1, 4, 1}, {-1, 7, 1}), Binding::numa, 4), (Bound{"0-3", "0-3", "4-7", "4-7"}));
}

TEST(BindNuma, GivesNodesWorkersByTheirCores) {
    Topology topology = machine({2, 1, 1, 4, 1});
    std::erase_if(topology.units, [](const ProcessingUnit& unit) { return unit.os_index > 4; });
    EXPECT_EQ(bind(topology, Binding::numa, 5), (Bound{"0-3", "0-3", "0-3", "0-3", "4"}));
}

TEST(BindSocket, TakesAllNodesOfTheSocket) {
    EXPECT_EQ(bind(machine(kServer), Binding::socket, 2), (Bound{"0-7,16-23", "8-15,24-31"}));
    EXPECT_EQ(bind(machine(kServer, {3, 1}), Binding::socket, 2), (Bound{"8-15,24-31", "0-7,16-23"}));
}

TEST(BindExclusive, DividesANodeAmongItsGpus) {
    EXPECT_EQ(bind(machine({2, 1, 1, 8, 1}, {0, 0, 0, 1}), Binding::exclusive, 4),
              (Bound{"0-2", "3-5", "6-7", "8-15"}));
    EXPECT_EQ(bind(machine({1, 1, 1, 2, 2}, {0, 0}), Binding::exclusive, 2), (Bound{"0,2", "1,3"}));
}

TEST(BindExclusive, GivesEachCoreToOneWorker) {
    for (int workers = 1; workers <= 16; ++workers) {
        const auto bound = bind_workers(machine(kServer), Binding::exclusive, workers);
        ASSERT_TRUE(bound);
        std::vector<int> all;
        for (const auto& units : *bound) all.insert(all.end(), units.begin(), units.end());
        std::sort(all.begin(), all.end());
        EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << workers;
    }
}

TEST(BindCoreComplex, GivesEachOneGroup) {
    EXPECT_EQ(bind(machine(kServer, {0, 0, 0, 1}), Binding::core_complex, 4),
              (Bound{"0-1,16-17", "2-3,18-19", "0-1,16-17", "4-5,20-21"}));
}

TEST(BindCoreComplex, PrefersLargeGroups) {
    Topology topology = machine({1, 1, 2, 2, 1});
    topology.units.erase(topology.units.begin());
    EXPECT_EQ(bind(topology, Binding::core_complex, 2), (Bound{"2-3", "1"}));
}

TEST(BindAnything, IsNeverEmptyNorOutside) {
    for (const Binding strategy :
         {Binding::cores, Binding::numa, Binding::socket, Binding::exclusive, Binding::core_complex})
        for (int workers = 1; workers <= 70; ++workers) {
            const auto bound = bind_workers(machine(kServer, {0, 1, -1, 9}), strategy, workers);
            ASSERT_TRUE(bound);
            ASSERT_EQ(bound->size(), static_cast<std::size_t>(workers));
            for (const auto& units : *bound) {
                ASSERT_FALSE(units.empty());
                EXPECT_TRUE(std::is_sorted(units.begin(), units.end()));
                EXPECT_GE(units.front(), 0);
                EXPECT_LT(units.back(), 32);
            }
        }
}

TEST(BindAnything, NeedsAProcessor) { EXPECT_FALSE(bind_workers({}, Binding::cores, 1)); }

}  // namespace
}  // namespace dlaunch::agent
