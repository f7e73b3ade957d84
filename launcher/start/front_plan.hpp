#pragma once
/// The front end's input: plain data, complete and checked.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/hosts/placement.hpp"
#include "launcher/start/exported.hpp"
#include "launcher/start/starter_command.hpp"

namespace dlaunch::launcher {

struct FrontNode {
    StarterHost host;
    std::vector<std::string> words;  ///< argv of its dlaunch, without the coordinator's endpoint
    int workers = 1;                 ///< of all contexts; 0: counted on the node (auto, gpu, cpu)
};

/// The parts of a node's command line that are the same for all.
struct JobWords {
    struct Context {
        std::vector<std::string> options;  ///< of this context, without its number of workers
        std::string count;                 ///< value of --nproc-per-node as given; may be empty
        std::vector<std::string> program;
    };
    std::string called;                ///< argv[0]
    std::vector<std::string> options;  ///< of the job
    std::vector<Context> contexts;
};

/// Of a host: their number, if known, and the chosen ones, for the variable of the node's devices; may be empty.
struct FrontSlots {
    std::optional<int> number;
    std::vector<int> chosen;
};

/// `shares`: workers by context; 0: the node counts them, and compares them with the slots.
[[nodiscard]] FrontNode front_node(const JobWords& words, StarterHost host, const std::vector<Share>& shares,
                                   const FrontSlots& slots);

struct FrontPlan {
    /// Options of the coordinator, signals, report and messages. Its program runs on the nodes.
    agent::Plan job;
    std::vector<FrontNode> nodes;  ///< in the order of their ranks; those beyond job.rendezvous.max_nodes are spares
    JobWords words;
    std::string token_file;        ///< on the hosts, where the launcher passes no input; the token is in `job`
    std::string discovery_script;  ///< --host-discovery-script, in place of `nodes`
    int workers_per_host = 0;      ///< with it: as many on each host; 0: its slots
    Starter launcher = Starter::ssh;
    std::vector<std::string> launcher_args;
    std::chrono::milliseconds launch_timeout{60'000};
    std::string remote_program;  ///< --remote-dlaunch; empty: the front end's own path
    bool copies = false;         ///< --copy
    bool collects_logs = false;  ///< --collect-logs, into job.logs.directory
    Export sent;
    std::string folder;  ///< working directory on the nodes

    /// The job has one worker, whose output passes at once, as without a front end: it may be a prompt.
    [[nodiscard]] bool is_lone_worker() const {
        return discovery_script.empty() && nodes.size() == 1 && nodes.front().workers == 1;
    }
};

/// The plan as JSON: --dry-run.
[[nodiscard]] std::string front_dry_run(const FrontPlan& plan);

}  // namespace dlaunch::launcher
