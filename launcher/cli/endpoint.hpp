#pragma once
/// How nodes meet: a host, the backend. Endpoints are rendezvous/net/endpoint.hpp's.

#include <string>
#include <string_view>

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A host name or address alone.
[[nodiscard]] base::Result<std::string> parse_host(std::string_view text);

/// static or c10d; torchrun's other backends are refused with what to use instead.
[[nodiscard]] base::Result<agent::Backend> parse_backend(std::string_view text);

}  // namespace dlaunch::launcher
