#pragma once
/// Parses rendezvous options: a host, the backend. rendezvous/net/endpoint.hpp parses endpoints.

#include <string>
#include <string_view>

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// A host name or address without a port.
[[nodiscard]] base::Result<std::string> parse_host(std::string_view text);

/// A value of --rdzv-backend. `etcd` is c10d with an endpoint that is an etcd, also without etcd:// before it.
struct BackendChoice {
    agent::Backend backend = agent::Backend::fixed_address;
    bool etcd = false;
};
/// static, c10d, etcd or etcd-v2.
[[nodiscard]] base::Result<BackendChoice> parse_backend(std::string_view text);

}  // namespace dlaunch::launcher
