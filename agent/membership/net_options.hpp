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

/// How long the coordinator may take to answer at all. As torchrun's read_timeout where that is given; else nobody
/// waits longer for it than for the other nodes.
[[nodiscard]] rendezvous::Milliseconds first_answer_timeout(const RendezvousPlan& plan);

/// How long a node that has lost the coordinator tries to find it again.
[[nodiscard]] rendezvous::Milliseconds rejoin_timeout(const RendezvousPlan& plan);

/// The user's program without its folder, or the module's name.
[[nodiscard]] std::string program_name(const Plan& plan);

/// The place among the nodes that a scheduler gave this one; empty: none.
[[nodiscard]] std::string order_key();

}  // namespace dlaunch::agent
