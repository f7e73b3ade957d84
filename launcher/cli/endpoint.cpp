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

Result<agent::Backend> parse_backend(std::string_view text) {
    std::string_view name = trimmed(text);
    if (name == "static") return agent::Backend::fixed_address;
    if (name == "c10d") return agent::Backend::c10d;
    if (name == "etcd" || name == "etcd-v2")
        return Error{"expected c10d or static; torchrun's etcd backends are not supported, c10d needs no etcd"};
    return Error{"expected c10d or static"};
}

}  // namespace dlaunch::launcher
