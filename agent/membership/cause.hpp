#pragma once
/// A failure as the coordinator knows it.

#include <optional>

#include "agent/errors/failure.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::agent {

/// `one_console`: what this node's workers have printed is on the screen of all nodes.
[[nodiscard]] rendezvous::Cause cause_of(const Failure& failure, Strength strength, int status, bool one_console);

/// The first cause among the records of all nodes, as the report has it. None: they hold no failure.
[[nodiscard]] std::optional<rendezvous::Cause> judge(const rendezvous::Verdict& of, bool one_console);

}  // namespace dlaunch::agent
