#pragma once
/// The options as values: a plan, and the values that plan.cpp combines with facts about the machine.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/host_options.hpp"
#include "launcher/cli/rdzv_conf.hpp"
#include "launcher/cli/values.hpp"

namespace dlaunch::launcher {

/// The plan with the signals that torchrun handles.
[[nodiscard]] agent::Plan with_default_signals(agent::Plan plan);

/// Defaults are those of the table; a test compares the two.
struct Settings {
    agent::Plan plan = with_default_signals({});  ///< parts that one option determines

    // Of one context: the first of the command line, or a later one.
    agent::Program program;
    WorkerCount workers;
    std::optional<int> appnum;

    // Of the job.
    std::string called;  ///< argv[0]
    bool module = false, no_python = false, run_path = false, use_env = false;
    bool standalone = false;
    std::optional<agent::MpiFamily> mpi;  ///< none: auto
    std::string endpoint;
    bool etcd_backend = false;  ///< --rdzv-backend=etcd
    std::optional<std::string> job_id;
    RdzvConf rdzv_conf;
    std::string master_addr = "127.0.0.1";
    std::optional<int> master_port;
    std::optional<std::chrono::milliseconds> node_timeout;
    std::string token_file;
    bool no_token = false;
    HostOptions hosts;
    std::string devices;       ///< chosen by the front end among this node's; empty: all
    std::optional<int> slots;  ///< of this node, from the front end: the most workers that may be counted
    std::string node_name;     ///< as a scheduler calls this node; empty: as gethostname(2) does
    bool requeue = false;
    std::string ui = "auto";
    bool quiet = false, verbose = false, dry_run = false;

    std::vector<std::string> warnings;
    std::map<std::string_view, std::string> spellings;  ///< spelling of each option's last use, by Option::key()
    /// An option's name for errors: as the user wrote it, else "--name".
    [[nodiscard]] std::string spelling(std::string_view option) const;
    [[nodiscard]] bool has(std::string_view option) const { return spellings.contains(option); }
};

/// "--nnodes=banana: expected a number"
[[nodiscard]] base::Error wrong(const Settings& settings, std::string_view option, std::string_view expected);

}  // namespace dlaunch::launcher
