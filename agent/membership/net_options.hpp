#pragma once
/// Converts the rendezvous part of a plan to options of discovery and coordinator.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::agent {

/// Null: a job without a token. An error if OpenSSL is missing.
[[nodiscard]] base::Result<auth::TlsContextPtr> tls_of(const RendezvousPlan& plan);

[[nodiscard]] rendezvous::DiscoveryRequest discovery_request(const Plan& plan, const std::string& host_name,
                                                             auth::TlsContextPtr tls = nullptr);

[[nodiscard]] rendezvous::Coordinator::Options coordinator_options(const Plan& plan, const std::string& host_name,
                                                                   std::uint64_t incarnation);

/// The node's workers by context.
[[nodiscard]] std::vector<rendezvous::WorkerBlock> worker_blocks(const Plan& plan);

/// For lines about missing nodes: where the coordinator of this node listens, and whether other hosts can join there.
[[nodiscard]] std::string place_of(const RendezvousPlan& plan, const std::string& listens_at);

/// For the node that is the first to host the coordinator, with its own address: how a job that strangers can join is
/// closed. Empty: they cannot.
[[nodiscard]] std::string open_job_line(const RendezvousPlan& plan, const rendezvous::DiscoveryResult& found);

/// The address of the worker store in a job of one node: loopback, unless the user named another address or endpoint
/// and the job has no token.
[[nodiscard]] std::string address_alone(const RendezvousPlan& plan);

}  // namespace dlaunch::agent
