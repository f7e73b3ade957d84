#pragma once
/// Converts the rendezvous part of a plan to options of discovery and coordinator.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/rounds/coordinator.hpp"
#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::agent {

[[nodiscard]] rendezvous::DiscoveryRequest discovery_request(const Plan& plan, const std::string& host_name);

[[nodiscard]] rendezvous::Coordinator::Options coordinator_options(const Plan& plan, const std::string& host_name,
                                                                   std::uint64_t incarnation);

/// The node's workers by context.
[[nodiscard]] std::vector<rendezvous::WorkerBlock> worker_blocks(const Plan& plan);

/// The address of the worker store in a job of one node: loopback, unless the user named another address or endpoint.
[[nodiscard]] std::string address_alone(const RendezvousPlan& plan);

}  // namespace dlaunch::agent
