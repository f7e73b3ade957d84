#pragma once
/// The front end's input: plain data, complete and checked.

#include <chrono>
#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/start/exported.hpp"
#include "launcher/start/starter_command.hpp"

namespace dlaunch::launcher {

struct FrontNode {
    StarterHost host;
    std::vector<std::string> words;  ///< argv of its dlaunch, without the coordinator's endpoint
    int workers = 1;                 ///< 0: counted on the node (auto, gpu, cpu)
};

struct FrontPlan {
    /// Options of the coordinator, signals, report and messages. Its program runs on the nodes.
    agent::Plan job;
    std::vector<FrontNode> nodes;  ///< in the order of their ranks; those beyond job.rendezvous.max_nodes are spares
    Starter launcher = Starter::ssh;
    std::vector<std::string> launcher_args;
    std::chrono::milliseconds launch_timeout{60'000};
    std::string remote_program;  ///< --remote-dlaunch; empty: the front end's own path
    bool copies = false;         ///< --copy
    Export sent;
    std::string folder;  ///< working directory on the nodes
};

/// The plan as JSON: --dry-run.
[[nodiscard]] std::string front_dry_run(const FrontPlan& plan);

}  // namespace dlaunch::launcher
