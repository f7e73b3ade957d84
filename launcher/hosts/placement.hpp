#pragma once
/// Decides which host gets how many workers of which program, and which hosts are spares. No I/O.

#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/hosts/selection.hpp"

namespace dlaunch::launcher {

/// --nnodes as given.
struct NodeLimits {
    int min = 1, max = 1;
};

/// How many workers a context wants; a job that is no MPMD job has one context.
struct WorkerWish {
    enum class Kind {
        by_slots,    ///< nothing was said: as many as the host has slots, one without slots
        per_host,    ///< `number` on each host: --nproc-per-node=8
        host_knows,  ///< each host counts its devices or cores: --nproc-per-node=gpu
        total,       ///< `number` on all hosts together: -n 8
    } kind = Kind::by_slots;
    std::int64_t number = 0;
    std::vector<SelectedHost> hosts = {};  ///< --hosts of this context; empty: it shares the hosts of the job
};

struct PlacementRequest {
    std::vector<SelectedHost> hosts;  ///< of the job, in order
    std::optional<NodeLimits> nodes;
    std::vector<WorkerWish> contexts;
};

struct Share {
    std::size_t context = 0;
    int workers = 0;  ///< 0: the host counts by itself
    bool operator==(const Share&) const = default;
};

struct PlacedHost {
    SelectedHost host;
    std::vector<Share> shares;  ///< by context, never empty
    bool operator==(const PlacedHost&) const = default;
};

struct Placement {
    std::vector<PlacedHost> hosts;   ///< in the order of node ranks
    std::vector<PlacedHost> spares;  ///< with the largest share of each context that their slots allow
    NodeLimits nodes;                ///< of the rendezvous
};

/// Slots are filled host by host and context by context; a host that gets no worker is in no list. Where no host has
/// slots, or --nnodes names the number of hosts, hosts share a total evenly. Errors contain the numbers of workers and
/// slots.
[[nodiscard]] base::Result<Placement> place(const PlacementRequest& request, const OptionSpelling& spelling);

}  // namespace dlaunch::launcher
