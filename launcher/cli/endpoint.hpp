#pragma once
/// Parses rendezvous options: a host, the backend. rendezvous/net/endpoint.hpp parses endpoints.

#include <string>
#include <string_view>

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A host name or address without a port.
[[nodiscard]] base::Result<std::string> parse_host(std::string_view text);

/// static or c10d. Errors for torchrun's other backends name the replacement.
[[nodiscard]] base::Result<agent::Backend> parse_backend(std::string_view text);

}  // namespace dlaunch::launcher
