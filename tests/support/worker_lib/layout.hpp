#pragma once

#include <string>
#include <vector>

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

/// Rank r is on the host that letter r names: "aab" are two on one and one on another.
inline Layout layout(const std::string& hosts) {
    std::vector<Member> members(hosts.size());
    for (std::size_t r = 0; r < hosts.size(); ++r) members[r].host_id = hosts[r];
    return Layout(members);
}

}  // namespace dlaunch::worker::hierarchy
