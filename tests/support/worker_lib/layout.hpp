#pragma once

#include <string>
#include <vector>

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

/// A layout in which letter r names the host of rank r: "aab" has two ranks on one host and one on another.
inline Layout layout(const std::string& hosts) {
    std::vector<Member> members(hosts.size());
    for (std::size_t r = 0; r < hosts.size(); ++r) members[r].host_id = hosts[r];
    return Layout(members);
}

}  // namespace dlaunch::worker::hierarchy
