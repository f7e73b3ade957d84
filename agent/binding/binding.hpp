#pragma once
/// Assigns processors to local workers. hwloc (by dlopen, only with --bind) and the kernel describe the machine.

#include <vector>

#include "agent/binding/visibility.hpp"
#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// A processing unit (hardware thread) that this process may use, and its position in the machine.
struct ProcessingUnit {
    int os_index = 0;
    int core = 0, numa = 0, package = 0, l3 = 0;  ///< logical indices, unique over the machine
};

struct Topology {
    std::vector<ProcessingUnit> units;  ///< within this process's affinity mask, ascending by os_index
    std::vector<int> gpu_numa;          ///< NUMA node of each visible device, -1 unknown; empty without any
};

/// The processors of every local worker (os indices, ascending); one empty list per worker for Binding::none. A worker
/// with a GPU (local rank < gpu_numa.size()) is placed on its GPU's NUMA node, else workers are spread evenly. If there
/// are more workers than places, workers share them. The lists are never empty for a strategy other than none.
[[nodiscard]] base::Result<std::vector<std::vector<int>>> bind_workers(const Topology& topology, Binding strategy,
                                                                       int workers);

/// Queries hwloc, and finds the devices that `variable` leaves to the workers. An error names the missing library and
/// the package to install.
[[nodiscard]] base::Result<Topology> discover_topology(const VariableLookup& variable);

/// bind_workers() on this machine; empty, without any query, for Binding::none.
[[nodiscard]] base::Result<std::vector<std::vector<int>>> bind_workers_here(Binding strategy, int workers,
                                                                            const VariableLookup& variable);

}  // namespace dlaunch::agent
