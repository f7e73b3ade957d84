#pragma once
/// The options that choose the hosts of a job, and how its agents start there. No I/O.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/cli/values.hpp"
#include "launcher/hosts/host_list.hpp"
#include "launcher/hosts/host_pattern.hpp"
#include "launcher/hosts/selection.hpp"

namespace dlaunch::launcher {

inline constexpr int kMostNodes = kMostHosts;  ///< for --num-nodes
inline constexpr int kMostGpus = 1024;         ///< of a host, for --num-gpus

/// The program that starts the agents.
enum class Starter { ssh, pdsh, srun, fork, manual };

/// --export: which of the front end's variables travel to the hosts.
struct ExportRule {
    bool all = true;                 ///< all but those that belong to a host or a session
    std::vector<std::string> names;  ///< these, if they are set
    std::vector<std::pair<std::string, std::string>> values;
    bool operator==(const ExportRule&) const = default;
};

/// Defaults are those of the table; a test compares the two.
struct HostOptions {
    std::vector<HostEntry> hosts;  ///< each name once
    std::string hostfile;
    std::vector<HostChoice> include, exclude;
    std::optional<int> num_nodes, num_gpus;  ///< none: all
    Starter starter = Starter::ssh;
    std::vector<std::string> launcher_args;
    std::chrono::milliseconds launch_timeout{60'000};
    std::string remote_dlaunch;  ///< empty: the path of this program
    bool copy = false, collect_logs = false;
    ExportRule exported;
    std::string host_discovery_script;  ///< a command for sh
};

[[nodiscard]] Parsed<Starter> parse_starter(std::string_view text);
[[nodiscard]] std::string_view starter_name(Starter starter);

/// A host list that names each host once.
[[nodiscard]] Parsed<std::vector<HostEntry>> parse_hosts(std::string_view text);

/// A number from 1 to `most`; -1 is none, for all.
[[nodiscard]] Parsed<std::optional<int>> parse_limit(std::string_view text, std::string_view what, int most);

/// ALL, NONE, or NAME and NAME=VALUE, with commas between them; ALL may have company.
[[nodiscard]] Parsed<ExportRule> parse_export(std::string_view text);

}  // namespace dlaunch::launcher
