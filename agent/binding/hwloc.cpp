#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "agent/binding/binding.hpp"
#include "agent/binding/devices.hpp"
#include "agent/binding/library.hpp"

namespace dlaunch::agent {

namespace {

/// The functions used of libhwloc. Only types and enumerators come from <hwloc.h>: its inline helpers would need the
/// library at link time.
struct Hwloc {
    Library library{"libhwloc.so.15"};
    decltype(::hwloc_topology_init)* init = nullptr;
    decltype(::hwloc_topology_load)* load = nullptr;
    decltype(::hwloc_topology_destroy)* destroy = nullptr;
    decltype(::hwloc_get_type_depth)* depth_of = nullptr;
    decltype(::hwloc_get_nbobjs_by_depth)* count_at = nullptr;
    decltype(::hwloc_get_obj_by_depth)* object_at = nullptr;
    decltype(::hwloc_bitmap_next)* next = nullptr;

    Hwloc() {
        library.load(init, "hwloc_topology_init");
        library.load(load, "hwloc_topology_load");
        library.load(destroy, "hwloc_topology_destroy");
        library.load(depth_of, "hwloc_get_type_depth");
        library.load(count_at, "hwloc_get_nbobjs_by_depth");
        library.load(object_at, "hwloc_get_obj_by_depth");
        library.load(next, "hwloc_bitmap_next");
    }
};

/// The loaded topology; ok() is false if hwloc could not load it.
class Loaded {
public:
    explicit Loaded(const Hwloc& hwloc) : hwloc_(hwloc) {
        if (hwloc.init(&topology_) != 0) topology_ = nullptr;
        ok_ = topology_ && hwloc.load(topology_) == 0;
    }
    ~Loaded() {
        if (topology_) hwloc_.destroy(topology_);
    }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    [[nodiscard]] bool ok() const { return ok_; }

    /// Calls `visit(os index of a processing unit, object)` for every unit of every object of a type.
    template <class Visit>
    void each_unit(hwloc_obj_type_t type, Visit visit) const {
        const int depth = hwloc_.depth_of(topology_, type);
        if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return;
        for (unsigned i = 0; i < hwloc_.count_at(topology_, depth); ++i) {
            const hwloc_obj_t object = hwloc_.object_at(topology_, depth, i);
            for (int unit = hwloc_.next(object->cpuset, -1); unit >= 0; unit = hwloc_.next(object->cpuset, unit))
                visit(unit, *object);
        }
    }

private:
    const Hwloc& hwloc_;
    hwloc_topology_t topology_ = nullptr;
    bool ok_ = false;
};

/// The affinity mask, with room for NR_CPUS of any kernel (at most 8192).
class Affinity {
public:
    Affinity() : ok_(::sched_getaffinity(0, sizeof sets_, sets_.data()) == 0) {}
    [[nodiscard]] bool has(int unit) const {
        return !ok_ || (unit >= 0 && unit < static_cast<int>(sizeof sets_) * 8 &&
                        CPU_ISSET_S(static_cast<std::size_t>(unit), sizeof sets_, sets_.data()));
    }

private:
    std::array<cpu_set_t, 8> sets_{};
    bool ok_;
};

std::vector<ProcessingUnit> usable_units(const Loaded& loaded) {
    const Affinity affinity;
    std::map<int, ProcessingUnit> units;
    loaded.each_unit(HWLOC_OBJ_PU, [&](int unit, const hwloc_obj& object) {
        // Without a core level (some virtual machines) each unit counts as a core.
        if (affinity.has(unit)) units[unit] = {unit, static_cast<int>(object.logical_index), -1, 0, -1};
    });
    auto set = [&](hwloc_obj_type_t type, int ProcessingUnit::*member, bool first_wins = false) {
        loaded.each_unit(type, [&](int unit, const hwloc_obj& object) {
            const auto found = units.find(unit);
            if (found != units.end() && !(first_wins && found->second.*member >= 0))
                found->second.*member = static_cast<int>(object.logical_index);
        });
    };
    set(HWLOC_OBJ_CORE, &ProcessingUnit::core);
    set(HWLOC_OBJ_PACKAGE, &ProcessingUnit::package);
    set(HWLOC_OBJ_L3CACHE, &ProcessingUnit::l3);
    // High-bandwidth memory is a second node of the same cores. Programs allocate from the first one.
    set(HWLOC_OBJ_NUMANODE, &ProcessingUnit::numa, true);
    std::vector<ProcessingUnit> sorted;
    for (auto& [index, unit] : units) {
        unit.numa = std::max(unit.numa, 0);
        // Without an L3 the node is the group. Real groups have no negative numbers.
        if (unit.l3 < 0) unit.l3 = -1 - unit.numa;
        sorted.push_back(unit);
    }
    return sorted;
}

/// Converts the kernel's node numbers from sysfs to hwloc's logical ones.
std::vector<int> gpu_nodes(const Loaded& loaded, const VariableLookup& variable) {
    std::map<int, int> logical;
    loaded.each_unit(HWLOC_OBJ_NUMANODE, [&](int, const hwloc_obj& object) {
        logical.emplace(static_cast<int>(object.os_index), static_cast<int>(object.logical_index));
    });
    std::vector<int> nodes = DeviceFinder().numa_nodes(variable);
    for (int& node : nodes) {
        const auto found = logical.find(node);
        node = found == logical.end() ? -1 : found->second;
    }
    return nodes;
}

}  // namespace

base::Result<std::vector<std::vector<int>>> bind_workers_here(Binding strategy, int workers,
                                                              const VariableLookup& variable) {
    if (strategy == Binding::none) return std::vector<std::vector<int>>();
    auto topology = discover_topology(variable);
    if (!topology) return topology.error();
    return bind_workers(*topology, strategy, workers);
}

base::Result<Topology> discover_topology(const VariableLookup& variable) {
    const Hwloc hwloc;
    if (!hwloc.library)
        return base::Error{
            fmt::format("binding needs hwloc: {}; install libhwloc15 or leave --bind out", hwloc.library.error())};
    const Loaded loaded(hwloc);
    if (!loaded.ok()) return base::Error{"binding: hwloc cannot read this machine's topology"};
    return Topology{usable_units(loaded), gpu_nodes(loaded, variable)};
}

}  // namespace dlaunch::agent
