#pragma once

#include <string>

#include "agent/group/group_shell.hpp"

namespace dlaunch::agent {

/// What the agent's socket answers: {"job":...,"host":...,"state":...,"round":...,"restart_count":...,
/// "workers":[{"rank","local_rank","pid","alive","status"}]}, one line.
[[nodiscard]] std::string node_status(const Plan& plan, const NodeFacts& node, const GroupShell& round);

}  // namespace dlaunch::agent
