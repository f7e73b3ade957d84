#pragma once
/// --rdzv-conf: torchrun's keys and rejoin_timeout.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A key that is not given is none.
struct RdzvConf {
    using Time = std::optional<std::chrono::milliseconds>;
    Time join_timeout, last_call_timeout, read_timeout, keep_alive_interval;
    Time timeout;         ///< join_timeout of the static backend
    Time rejoin_timeout;  ///< dlaunch's own key
    std::optional<int> keep_alive_max_attempt;
    std::optional<bool> is_host;
    bool https = false;                         ///< protocol, of etcd
    std::string authorities, certificate, key;  ///< cacert, cert and key, or etcd-v2's names of them
    std::string etcd_prefix;                    ///< without a slash at the end; empty: the default
    std::vector<std::string> warnings;          ///< one for each unknown key
};

/// KEY=VALUE,KEY=VALUE, with or without quotes; the last use of a key counts. Keys of torchrun's backends without
/// effect in dlaunch are checked only. An unknown key causes a warning.
[[nodiscard]] base::Result<RdzvConf> parse_rdzv_conf(std::string_view text);

}  // namespace dlaunch::launcher
