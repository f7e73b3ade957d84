#pragma once
/// How nodes meet: a host, the backend, the details of --rdzv-conf. Endpoints are rendezvous/discovery/endpoint.hpp's.

#include <map>
#include <string>
#include <string_view>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A host name or address alone.
[[nodiscard]] base::Result<std::string> parse_host(std::string_view text);

/// static or c10d; torchrun's other backends are refused with what to use instead.
[[nodiscard]] base::Result<std::string> parse_backend(std::string_view text);

/// KEY=VALUE,KEY=VALUE; times must be numbers. An empty text is an empty map.
[[nodiscard]] base::Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text);

}  // namespace dlaunch::launcher
