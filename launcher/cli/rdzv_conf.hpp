#pragma once
/// --rdzv-conf: torchrun's keys and one of ours, and what their values may be.

#include <map>
#include <string>
#include <string_view>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// KEY=VALUE,KEY=VALUE; truth values become 1 or 0. Keys of all of torchrun's backends are taken, whether they mean
/// something here or not; any other is a slip. An empty text is an empty map.
[[nodiscard]] base::Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text);

}  // namespace dlaunch::launcher
