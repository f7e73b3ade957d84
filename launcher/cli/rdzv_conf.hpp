#pragma once
/// --rdzv-conf: torchrun's keys and one of ours, as values.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// What is not given is none.
struct RdzvConf {
    using Time = std::optional<std::chrono::milliseconds>;
    Time join_timeout, last_call_timeout, read_timeout, keep_alive_interval;
    Time timeout;         ///< the static backend's join_timeout
    Time rejoin_timeout;  ///< ours
    std::optional<int> keep_alive_max_attempt;
    std::optional<bool> is_host;
    std::vector<std::string> warnings;  ///< one for each unknown key
};

/// KEY=VALUE,KEY=VALUE, in quotes or not; of a key given twice the last counts. All keys of torchrun's backends are
/// known; those without effect here are checked only. An unknown key is a warning.
[[nodiscard]] base::Result<RdzvConf> parse_rdzv_conf(std::string_view text);

}  // namespace dlaunch::launcher
