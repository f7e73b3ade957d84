#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>

#include "agent/binding/binding.hpp"

namespace dlaunch::agent {
namespace {

std::optional<std::string> nothing_set(std::string_view) { return std::nullopt; }

/// discover_topology(nothing_set), or a skipped test where hwloc is not installed.
// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared has none
#define TOPOLOGY_OR_SKIP(name)                                                          \
    const auto discovered = discover_topology(nothing_set);                             \
    if (!discovered && discovered.error().text.find("libhwloc15") != std::string::npos) \
        GTEST_SKIP() << discovered.error().text;                                        \
    ASSERT_TRUE(discovered) << discovered.error().text;                                 \
    const Topology& name = *discovered
// NOLINTEND(bugprone-macro-parentheses)

std::vector<int> indices(const Topology& topology) {
    std::vector<int> found;
    for (const ProcessingUnit& unit : topology.units) found.push_back(unit.os_index);
    return found;
}

std::vector<int> affinity() {
    cpu_set_t set;
    EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    std::vector<int> found;
    for (int unit = 0; unit < CPU_SETSIZE; ++unit)
        if (CPU_ISSET(static_cast<std::size_t>(unit), &set)) found.push_back(unit);
    return found;
}

std::string sysfs(int unit, const std::string& name) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(unit) + "/topology/" + name);
    std::string text;
    std::getline(file, text);
    return text;
}

TEST(DiscoverTopology, ContainsTheUnitsOfTheAffinityMask) {
    TOPOLOGY_OR_SKIP(topology);
    EXPECT_EQ(indices(topology), affinity());
}

TEST(DiscoverTopology, FollowsANarrowerMask) {
    cpu_set_t before, narrow;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    const int only = affinity().back();
    CPU_ZERO(&narrow);
    CPU_SET(static_cast<std::size_t>(only), &narrow);
    ASSERT_EQ(::sched_setaffinity(0, sizeof narrow, &narrow), 0);
    const auto topology = discover_topology(nothing_set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
    if (!topology) GTEST_SKIP() << topology.error().text;
    EXPECT_EQ(indices(*topology), std::vector<int>{only});
}

TEST(DiscoverTopology, AgreesWithTheKernelAboutCoresAndSockets) {
    TOPOLOGY_OR_SKIP(topology);
    if (sysfs(topology.units.front().os_index, "core_cpus_list").empty())
        GTEST_SKIP() << "no /sys/devices/system/cpu/*/topology";
    for (const ProcessingUnit& a : topology.units)
        for (const ProcessingUnit& b : topology.units) {
            EXPECT_EQ(a.core == b.core, sysfs(a.os_index, "core_cpus_list") == sysfs(b.os_index, "core_cpus_list"))
                << a.os_index << ' ' << b.os_index;
            EXPECT_EQ(a.package == b.package,
                      sysfs(a.os_index, "package_cpus_list") == sysfs(b.os_index, "package_cpus_list"))
                << a.os_index << ' ' << b.os_index;
        }
}

TEST(DiscoverTopology, IsGoodEnoughToBindWorkers) {
    TOPOLOGY_OR_SKIP(topology);
    for (const Binding strategy :
         {Binding::cores, Binding::numa, Binding::socket, Binding::exclusive, Binding::core_complex}) {
        const auto bound = bind_workers(topology, strategy, 3);
        ASSERT_TRUE(bound);
        for (const auto& units : *bound) EXPECT_FALSE(units.empty());
    }
}

}  // namespace
}  // namespace dlaunch::agent
