#include "launcher/plan_rendezvous.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/hosts/host_list.hpp"
#include "rendezvous/base/ports.hpp"
#include "rendezvous/net/endpoint.hpp"
#include "rendezvous/rounds/lease.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// A job of this node only, with its own port and id. Rendezvous options have no effect.
agent::RendezvousPlan plan_standalone(const Settings& settings, const Deps& deps, const std::string& local_addr) {
    agent::RendezvousPlan plan;
    plan.backend = agent::Backend::c10d;
    plan.endpoint = "localhost:0";
    plan.local_addr = local_addr;
    plan.store = settings.plan.rendezvous.store;
    bool own_id = settings.standalone || !settings.job_id;
    plan.job_id = own_id ? deps.fresh_id() : *settings.job_id;
    return plan;
}

/// The other nodes must know the endpoint. With MIN = 1 the node may listen at any port.
Result<void> check_endpoints(const Settings& settings, const agent::RendezvousPlan& plan) {
    if (plan.min_nodes == 1 || settings.endpoint.empty()) return {};
    for (const rendezvous::Endpoint& place : plan.endpoints.places) {
        if (place.port == 0) return wrong(settings, "rdzv-endpoint", "a fixed port, as the other nodes must know it");
        if (place.host == "0.0.0.0" || place.host == "::")
            return wrong(settings, "rdzv-endpoint", "the name or address of one node");
    }
    return {};
}

constexpr const char* kEtcd = "etcd://";

/// torchrun's form: --rdzv-backend marks the endpoint as an etcd.
bool is_bare_etcd(const Settings& settings) {
    return settings.etcd_backend && settings.has("rdzv-endpoint") && settings.endpoint.find("://") == std::string::npos;
}

bool has_etcd(const Settings& settings) { return is_bare_etcd(settings) || settings.endpoint.starts_with(kEtcd); }

/// The coordinator has no fixed address: nodes claim the job, and another one may host it later.
bool has_claims(const Settings& settings) { return has_etcd(settings) || settings.endpoint.starts_with("file://"); }

void plan_etcd(const RdzvConf& conf, const agent::Host& host, rendezvous::EtcdPlace& etcd) {
    etcd.https = conf.https;
    etcd.authorities = conf.authorities;
    etcd.certificate = conf.certificate;
    etcd.key = conf.key;
    if (!conf.etcd_prefix.empty()) etcd.prefix = conf.etcd_prefix;
    etcd.user = host.set_variable("ETCDCTL_USER").value_or("");
}

/// The addresses of the job's coordinator. The static backend uses --master-addr, unless an endpoint was given.
Result<void> plan_endpoints(const Settings& settings, const agent::Host& host, agent::RendezvousPlan& plan) {
    const bool fixed = plan.backend == agent::Backend::fixed_address;
    plan.endpoint = (is_bare_etcd(settings) ? kEtcd : "") + settings.endpoint;
    plan.master_port = settings.master_port;
    if (settings.endpoint.empty()) {
        if (!fixed) return {};
        plan.endpoints.places = {{settings.master_addr, settings.master_port.value_or(base::kStorePort)}};
    } else {
        auto endpoints = rendezvous::parse_endpoints(plan.endpoint, fixed ? base::kStorePort : base::kElasticPort);
        if (!endpoints) return endpoints.error().within(settings.spelling("rdzv-endpoint"));
        plan.endpoints = std::move(*endpoints);
        if (!plan.endpoints.etcd.members.empty()) plan_etcd(settings.rdzv_conf, host, plan.endpoints.etcd);
        if (auto fine = check_endpoints(settings, plan); !fine) return fine;
    }
    if (!fixed) return {};
    const rendezvous::Endpoint master = plan.endpoints.places.front();
    plan.endpoints.places = {master};
    plan.master_addr = master.host;
    plan.master_port = master.port;
    return {};
}

/// A folder or etcd as endpoint implies c10d: it has no fixed address.
Result<agent::Backend> backend_of(const Settings& settings) {
    const agent::Backend backend = settings.plan.rendezvous.backend;
    if (settings.etcd_backend && !has_etcd(settings))
        return wrong(settings, "rdzv-backend", "--rdzv-endpoint=HOST:PORT, a member of an etcd cluster");
    if (!has_claims(settings)) return backend;
    if (backend == agent::Backend::fixed_address && settings.has("rdzv-backend"))
        return wrong(settings, "rdzv-backend", "c10d with an endpoint that is a folder or etcd");
    return agent::Backend::c10d;
}

/// --node-timeout, else torchrun's keep_alive_* keys, else the default, which is twice as long for a folder or
/// etcd: a coordinator on another node takes over before the members fence themselves.
Result<std::chrono::milliseconds> node_timeout(const Settings& settings) {
    if (settings.node_timeout && *settings.node_timeout < rendezvous::kLeastNodeTimeout)
        return wrong(settings, "node-timeout", "2 s at least");
    if (settings.node_timeout) return *settings.node_timeout;
    const RdzvConf& conf = settings.rdzv_conf;
    if (!conf.keep_alive_interval && !conf.keep_alive_max_attempt)
        return agent::RendezvousPlan{}.node_timeout * (has_claims(settings) ? 2 : 1);
    constexpr std::chrono::seconds kInterval{5};  // torchrun's
    constexpr int kAttempts = 3;                  // torchrun's
    const auto silence = conf.keep_alive_interval.value_or(kInterval) * conf.keep_alive_max_attempt.value_or(kAttempts);
    if (silence < rendezvous::kLeastNodeTimeout)
        return wrong(settings, "rdzv-conf", "keep_alive_interval times keep_alive_max_attempt of 2 s at least");
    return silence;
}

/// Sets torchrun's times. With the static backend join_timeout is called `timeout`, and there is no read_timeout.
void plan_times(const RdzvConf& conf, agent::RendezvousPlan& plan) {
    const bool fixed = plan.backend == agent::Backend::fixed_address;
    const RdzvConf::Time& join = fixed && !conf.join_timeout ? conf.timeout : conf.join_timeout;
    plan.join_timeout = join.value_or(plan.join_timeout);
    plan.answer_timeout = fixed ? plan.join_timeout : conf.read_timeout.value_or(plan.join_timeout);
    plan.rejoin_timeout = conf.rejoin_timeout.value_or(plan.rejoin_timeout);
    plan.last_call = conf.last_call_timeout.value_or(plan.last_call);
}

/// This node's index in SLURM's job step: one dlaunch runs per task.
std::string order_key(const Deps& deps) {
    return deps.host.variable("SLURM_JOB_ID") ? deps.host.variable("SLURM_PROCID").value_or("") : std::string();
}

/// SLURM's node names if their number is the job's; else none.
std::vector<std::string> expected_hosts(const Deps& deps, int nodes) {
    for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
        auto list = deps.host.set_variable(name);
        if (!list) continue;
        auto hosts = parse_host_names(*list);
        if (hosts && hosts->size() == static_cast<std::size_t>(nodes)) return std::move(*hosts);
    }
    return {};
}

}  // namespace

Result<void> plan_rendezvous(const Settings& settings, const Deps& deps, agent::RendezvousPlan& plan) {
    if (!plan.local_addr.empty())
        if (std::string own = deps.address_of_interface(plan.local_addr); !own.empty())
            plan.local_addr = std::move(own);
    const bool one_node = plan.max_nodes == 1;
    if (settings.standalone && !one_node) return wrong(settings, "nnodes", "one node with --standalone");
    if (!settings.standalone && plan.node_rank && *plan.node_rank >= plan.max_nodes)
        return wrong(settings, "node-rank", fmt::format("a rank below {}, the number of nodes", plan.max_nodes));
    auto silence = node_timeout(settings);
    if (!silence) return silence.error();
    if (settings.standalone || (one_node && settings.endpoint.empty() && !settings.master_port)) {
        plan = plan_standalone(settings, deps, plan.local_addr);
        return {};
    }
    auto backend = backend_of(settings);
    if (!backend) return backend.error();
    plan.standalone = false;
    plan.backend = *backend;
    plan.node_timeout = *silence;
    plan.is_host = settings.rdzv_conf.is_host;
    plan.expected_hosts = expected_hosts(deps, plan.max_nodes);
    plan.job_id = settings.job_id.value_or(one_node ? deps.fresh_id() : rendezvous::kUnnamedJob);
    if (const std::string key = order_key(deps); !key.empty()) plan.order_key = key;
    plan_times(settings.rdzv_conf, plan);
    return plan_endpoints(settings, deps.host, plan);
}

}  // namespace dlaunch::launcher
