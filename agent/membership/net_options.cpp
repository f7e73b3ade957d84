#include "agent/membership/net_options.hpp"

#include <fmt/format.h>

#include <utility>

#include "rendezvous/base/address.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;

namespace {

r::ScaleUp scale_up(ScaleUp policy) {
    switch (policy) {
        case ScaleUp::immediate: return r::ScaleUp::immediate;
        case ScaleUp::on_restart: return r::ScaleUp::on_restart;
        case ScaleUp::never: return r::ScaleUp::never;
    }
    return {};
}

}  // namespace

base::Result<auth::TlsContextPtr> tls_of(const RendezvousPlan& plan) {
    if (!plan.token) return auth::TlsContextPtr();
    return auth::TlsContext::of(*plan.token);
}

r::DiscoveryRequest discovery_request(const Plan& plan, const std::string& host_name, auth::TlsContextPtr tls) {
    const RendezvousPlan& rendezvous = plan.rendezvous;
    using r::Hosting;
    r::DiscoveryRequest request;
    request.at = rendezvous.endpoints;
    request.host_name = host_name;
    request.local_addr = rendezvous.local_addr;
    request.version = DLAUNCH_VERSION;
    request.job_id = rendezvous.job_id;
    request.tls = std::move(tls);
    request.node_timeout = rendezvous.node_timeout;
    if (rendezvous.backend == Backend::fixed_address) {
        if (rendezvous.endpoint.empty()) request.option = "--master-addr";
        if (rendezvous.node_rank) request.hosting = *rendezvous.node_rank == 0 ? Hosting::as_first : Hosting::never;
    }
    if (rendezvous.is_host) request.hosting = *rendezvous.is_host ? Hosting::always : Hosting::never;
    return request;
}

r::Coordinator::Options coordinator_options(const Plan& plan, const std::string& host_name, std::uint64_t incarnation) {
    const RendezvousPlan& rendezvous = plan.rendezvous;
    r::Coordinator::Options options;
    options.version = DLAUNCH_VERSION;
    options.job_id = rendezvous.job_id;
    options.host = host_name;
    options.role = plan.contexts.front().program.role;
    options.program = plan.contexts.front().program.name();
    options.incarnation = incarnation;
    options.min_nodes = rendezvous.min_nodes;
    options.max_nodes = rendezvous.max_nodes;
    options.last_call = rendezvous.last_call;
    options.join_timeout = rendezvous.join_timeout;
    options.node_timeout = rendezvous.node_timeout;
    options.scale_up = scale_up(rendezvous.scale_up);
    options.expected_hosts = rendezvous.expected_hosts;
    options.fixed_ranks = rendezvous.backend == Backend::fixed_address;
    options.restarts = {.max_restarts = plan.restarts.max_restarts,
                        .first = plan.restarts.first,
                        .most = plan.restarts.most,
                        .healthy = plan.restarts.healthy,
                        .crash_loop = plan.restarts.crash_loop};
    options.cooldown = {.first = plan.restarts.cooldown_first, .most = plan.restarts.cooldown_most};
    options.master_addr = rendezvous.master_addr;
    options.master_port = rendezvous.master_port;
    options.relays_store = rendezvous.relays_store();
    return options;
}

std::vector<r::WorkerBlock> worker_blocks(const Plan& plan) {
    std::vector<r::WorkerBlock> blocks;
    for (const Context& context : plan.contexts)
        blocks.push_back({context.appnum, context.workers, context.program.role});
    return blocks;
}

std::string place_of(const RendezvousPlan& plan, const std::string& listens_at) {
    const auto& named = plan.endpoints.places;
    const char* const option = plan.endpoint.empty() ? "--master-addr" : "--rdzv-endpoint";
    const bool is_closed = !named.empty() && r::means_loopback(named.front().host);
    return "at " + listens_at + (is_closed ? fmt::format(" for nodes of this host only, see {}", option) : "");
}

std::string open_job_line(const RendezvousPlan& plan, const r::DiscoveryResult& found) {
    if (plan.token || plan.may_be_open || found.succeeds || !found.listener || r::is_loopback(found.bind_to)) return {};
    return fmt::format(
        "the job is open to everybody who reaches {}; to close it, give all nodes the same --token-file, which dlaunch "
        "token FILE makes",
        found.listener->endpoint);
}

std::string address_alone(const RendezvousPlan& plan) {
    if (plan.relays_store()) return "127.0.0.1";
    if (!plan.master_addr.empty()) return plan.master_addr;
    if (!plan.local_addr.empty()) return plan.local_addr;
    const auto& named = plan.endpoints.places;
    const bool is_loopback = !named.empty() && r::means_loopback(named.front().host);
    const bool is_fixed = plan.backend == Backend::fixed_address;
    return plan.standalone || is_fixed || is_loopback ? "127.0.0.1" : base::reachable_address();
}

}  // namespace dlaunch::agent
