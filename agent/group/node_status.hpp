#pragma once

#include <string>

#include "agent/group/group_shell.hpp"

namespace dlaunch::agent {

/// The answer of the agent's socket to a status request:
/// {"job":...,"host":...,"state":...,"round":...,"restart_count":...,
/// "workers":[{"rank","local_rank","role","pid","alive","status"}]}, one line.
[[nodiscard]] std::string node_status(const Plan& plan, const NodeFacts& node, const GroupShell& round);

}  // namespace dlaunch::agent
