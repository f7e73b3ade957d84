#pragma once
/// What a plan says about meeting, in the words of those who do it.

#include <cstdint>
#include <string>

#include "agent/plan.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/rounds/coordinator.hpp"

namespace dlaunch::agent {

[[nodiscard]] rendezvous::Question question_of(const Plan& plan, const std::string& host_name);

[[nodiscard]] rendezvous::Coordinator::Options coordinator_options(const Plan& plan, const std::string& host_name,
                                                                   std::uint64_t incarnation);

/// join_timeout of --rdzv-conf; the static backend's name for it is timeout.
[[nodiscard]] rendezvous::Milliseconds join_timeout(const RendezvousPlan& plan);

/// The place among the nodes that a scheduler gave this one; empty: none.
[[nodiscard]] std::string order_key();

}  // namespace dlaunch::agent
