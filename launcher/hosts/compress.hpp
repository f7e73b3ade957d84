#pragma once
/// Folds hosts into a list, as `scontrol show hostlist` does. No I/O.

#include <string>
#include <vector>

#include "launcher/hosts/host_list.hpp"

namespace dlaunch::launcher {

/// "a[01,2-3]" for a01, a2, a3: neighbours that differ in their last number only share a bracket. The order stays, so
/// parse_host_list() of the result gives the same hosts.
[[nodiscard]] std::string compress(const std::vector<HostEntry>& hosts);

}  // namespace dlaunch::launcher
