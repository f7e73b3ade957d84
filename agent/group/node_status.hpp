#pragma once

#include <string>

#include "agent/group/group_shell.hpp"
#include "agent/logs/run_paths.hpp"

namespace dlaunch::agent {

/// The answer of the agent's socket to a status request:
/// {"job":...,"host":...,"state":...,"round":...,"restart_count":...,
/// "nodes":{"min","max"},"endpoint","program","began","logs",
/// "workers":[{"rank","local_rank","role","pid","alive","status"}]}, one line.
[[nodiscard]] std::string node_status(const Plan& plan, const NodeFacts& node, const GroupShell& round,
                                      const RunPaths& paths);

}  // namespace dlaunch::agent
