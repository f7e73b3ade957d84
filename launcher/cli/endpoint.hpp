#pragma once
/// Where and how nodes meet: addresses and the details of --rdzv-conf. No I/O, no look-ups.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

struct Endpoint {
    std::string host;  ///< without brackets
    std::optional<int> port;
    bool operator==(const Endpoint&) const = default;
};

/// HOST, HOST:PORT or [IPV6]:PORT, one or several separated by commas.
[[nodiscard]] base::Result<std::vector<Endpoint>> parse_endpoints(std::string_view text);

/// A host name or address alone.
[[nodiscard]] base::Result<std::string> parse_host(std::string_view text);

/// static or c10d; torchrun's other backends are refused with what to use instead.
[[nodiscard]] base::Result<std::string> parse_backend(std::string_view text);

/// KEY=VALUE,KEY=VALUE; times must be numbers. An empty text is an empty map.
[[nodiscard]] base::Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text);

}  // namespace dlaunch::launcher
