#include "launcher/cli/endpoint.hpp"

#include "launcher/cli/split.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

}  // namespace

Result<std::string> parse_host(std::string_view text) {
    std::string_view host = trimmed(text);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!rendezvous::is_host(host)) return Error{"expected a host name or address"};
    return base::text_result(std::string(host));
}

Result<BackendChoice> parse_backend(std::string_view text) {
    std::string_view name = trimmed(text);
    if (name == "static") return BackendChoice{};
    if (name == "c10d") return BackendChoice{agent::Backend::c10d};
    if (name == "etcd" || name == "etcd-v2") return BackendChoice{agent::Backend::c10d, true};
    return Error{"expected static, c10d or etcd"};
}

}  // namespace dlaunch::launcher
