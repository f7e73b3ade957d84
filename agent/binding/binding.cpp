#include "agent/binding/binding.hpp"

#include <algorithm>

namespace dlaunch::agent {

namespace {

using Units = std::vector<int>;

/// All hardware threads of one core; cores are never divided.
struct Core {
    int core, numa, package, l3;
    Units units;
};

/// Cores by logical index: neighbours share caches, nodes and sockets.
std::vector<Core> cores_of(const Topology& topology) {
    std::vector<Core> cores;
    for (const ProcessingUnit& unit : topology.units) {
        auto found = std::find_if(cores.begin(), cores.end(), [&](const Core& core) { return core.core == unit.core; });
        if (found == cores.end())
            found = cores.insert(cores.end(), Core{unit.core, unit.numa, unit.package, unit.l3, {}});
        found->units.push_back(unit.os_index);
    }
    std::sort(cores.begin(), cores.end(), [](const Core& a, const Core& b) { return a.core < b.core; });
    return cores;
}

template <class Predicate>
std::vector<Core> only(const std::vector<Core>& cores, Predicate predicate) {
    std::vector<Core> chosen;
    std::copy_if(cores.begin(), cores.end(), std::back_inserter(chosen), predicate);
    return chosen;
}

std::vector<Core> on_node(const std::vector<Core>& cores, int numa) {
    return only(cores, [&](const Core& core) { return core.numa == numa; });
}

Units units_of(const std::vector<Core>& cores) {
    Units units;
    for (const Core& core : cores) units.insert(units.end(), core.units.begin(), core.units.end());
    std::sort(units.begin(), units.end());
    return units;
}

/// Share `index` of `shares`: contiguous cores, with one core more in the first shares if the division leaves a rest.
/// With more shares than cores, neighbours share a core.
Units share(const std::vector<Core>& cores, std::size_t index, std::size_t shares) {
    const std::size_t count = cores.size();
    if (shares > count) return units_of({cores[index * count / shares]});
    const std::size_t each = count / shares, more = count % shares;
    const std::size_t first = index * each + std::min(index, more);
    const auto begin = cores.begin() + static_cast<std::ptrdiff_t>(first);
    return units_of({begin, begin + static_cast<std::ptrdiff_t>(each + (index < more ? 1 : 0))});
}

/// The core near each worker: the first core of its GPU's node if that is known and usable. The other workers are
/// spread over all cores, in proportion to each node's cores.
struct Homes {
    std::vector<const Core*> near;
    bool by_gpu = false;  ///< at least one worker is placed by its GPU
};

Homes homes_of(const Topology& topology, const std::vector<Core>& cores, std::size_t workers) {
    Homes homes;
    homes.near.assign(workers, nullptr);
    std::size_t free = workers;
    for (std::size_t i = 0; i < std::min(workers, topology.gpu_numa.size()); ++i) {
        const auto core =
            std::find_if(cores.begin(), cores.end(), [&](const Core& c) { return c.numa == topology.gpu_numa[i]; });
        if (core == cores.end()) continue;
        homes.near[i] = &*core;
        homes.by_gpu = true;
        --free;
    }
    std::size_t index = 0;
    for (const Core*& near : homes.near)
        if (!near) near = &cores[index++ * cores.size() / free];
    return homes;
}

/// A worker's index among the workers of its node.
struct NodeIndex {
    std::size_t index, count;
};

NodeIndex index_on_node(const Homes& homes, std::size_t worker) {
    NodeIndex place{0, 0};
    for (std::size_t i = 0; i < homes.near.size(); ++i) {
        if (homes.near[i]->numa != homes.near[worker]->numa) continue;
        if (i < worker) ++place.index;
        ++place.count;
    }
    return place;
}

/// The L3 groups of a node, largest first.
std::vector<Units> core_complexes(const std::vector<Core>& node) {
    std::vector<int> known;
    std::vector<Units> groups;
    for (const Core& core : node) {
        if (std::count(known.begin(), known.end(), core.l3) > 0) continue;
        known.push_back(core.l3);
        groups.push_back(units_of(only(node, [&](const Core& other) { return other.l3 == core.l3; })));
    }
    std::stable_sort(groups.begin(), groups.end(), [](const Units& a, const Units& b) { return a.size() > b.size(); });
    return groups;
}

Units bind_one(const std::vector<Core>& cores, const Homes& homes, Binding strategy, std::size_t worker) {
    const Core& home = *homes.near[worker];
    if (strategy == Binding::cores && !homes.by_gpu) return share(cores, worker, homes.near.size());
    if (strategy == Binding::socket)
        return units_of(only(cores, [&](const Core& core) { return core.package == home.package; }));
    const std::vector<Core> node = on_node(cores, home.numa);
    if (strategy == Binding::numa) return units_of(node);
    const auto [index, count] = index_on_node(homes, worker);
    if (strategy != Binding::core_complex) return share(node, index, count);
    const std::vector<Units> groups = core_complexes(node);
    return groups[index % groups.size()];
}

}  // namespace

base::Result<std::vector<std::vector<int>>> bind_workers(const Topology& topology, Binding strategy, int workers) {
    std::vector<Units> bound(static_cast<std::size_t>(std::max(workers, 0)));
    if (strategy == Binding::none) return bound;
    const std::vector<Core> cores = cores_of(topology);
    if (cores.empty()) return base::Error{"binding: the topology shows no processor that this process may use"};
    const Homes homes = homes_of(topology, cores, bound.size());
    for (std::size_t worker = 0; worker < bound.size(); ++worker)
        bound[worker] = bind_one(cores, homes, strategy, worker);
    return bound;
}

}  // namespace dlaunch::agent
