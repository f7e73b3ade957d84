#pragma once
/// What the options say, as values, before anybody looked at the machine.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/plan.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/cli/rdzv_conf.hpp"
#include "launcher/cli/table.hpp"
#include "launcher/cli/values.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

/// Defaults are those of the table; a test compares the two.
struct Settings {
    NodeRange nodes;
    WorkerCount workers;
    std::string role = "default";

    bool module = false, no_python = false, run_path = false;
    std::vector<std::pair<std::string, std::string>> environment;
    std::string working_directory;
    agent::StdinPlan standard_input;
    std::vector<agent::Wrap> wraps;
    bool forks = false;  ///< --start-method=fork
    bool pass_local_rank = false, virtual_local_rank = false;
    agent::Binding binding = agent::Binding::none;

    bool standalone = false;
    agent::Backend backend = agent::Backend::fixed_address;
    std::string endpoint;
    std::optional<std::string> job_id;
    RdzvConf rdzv_conf;
    std::optional<int> node_rank;
    std::string master_addr = "127.0.0.1";
    std::optional<int> master_port;
    std::string local_addr;
    agent::ScaleUp scale_up = agent::ScaleUp::immediate;
    std::optional<std::chrono::milliseconds> node_timeout;

    int max_restarts = 0;
    Backoff backoff;
    int crash_loop = 10;
    std::chrono::milliseconds timeout{0}, grace{30'000};
    int stop_signal = 15;
    std::vector<int> handled_signals{15, 2, 1, 3};
    std::string handled_signals_text = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";

    agent::LogPlan logs;
    std::string report_file, event_log;
    bool quiet = false, verbose = false, dry_run = false;

    std::vector<std::string> warnings;
    /// How each option that was given is named in an error.
    std::map<Id, std::string> spellings;
    [[nodiscard]] std::string spelling(Id id) const;
};

/// Takes one mention over into the settings. The error begins with the mention's spelling.
[[nodiscard]] base::Result<void> apply(const Given& given, Settings& settings);

}  // namespace dlaunch::launcher
