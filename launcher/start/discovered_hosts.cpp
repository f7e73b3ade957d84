#include "launcher/start/discovered_hosts.hpp"

#include <algorithm>

namespace dlaunch::launcher {

std::vector<DiscoveredHosts::Change> DiscoveredHosts::listed(const std::vector<HostEntry>& hosts, base::Time now) {
    std::vector<Change> changes;
    for (std::size_t at = 0; at < known_.size(); ++at) {
        Known& known = known_[at];
        known.is_listed = std::ranges::find(hosts, known.name, &HostEntry::name) != hosts.end();
        const int index = static_cast<int>(at);
        if (!known.is_listed && known.runs) {
            known.runs = false;
            known.pause = kFirstPause;
            known.again_at = now;
            changes.push_back({Change::Kind::leave, index});
        } else if (known.is_listed && !known.runs && now >= known.again_at) {
            known.runs = true;
            changes.push_back({Change::Kind::again, index});
        }
    }
    for (const HostEntry& host : hosts) {
        if (std::ranges::find(known_, host.name, &Known::name) != known_.end()) continue;
        known_.push_back({.name = host.name});
        changes.push_back({Change::Kind::add, static_cast<int>(known_.size()) - 1, host});
    }
    return changes;
}

void DiscoveredHosts::ended(int index, base::Time now) {
    Known& known = known_[static_cast<std::size_t>(index)];
    if (!known.runs) return;
    known.runs = false;
    known.again_at = now + known.pause;
    known.pause = std::min(2 * known.pause, kMostPause);
}

}  // namespace dlaunch::launcher
