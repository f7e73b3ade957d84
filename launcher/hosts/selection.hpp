#pragma once
/// Chooses hosts and slots as DeepSpeed's launcher does: --include, --exclude, --num_nodes, --num_gpus. No I/O.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/host_list.hpp"

namespace dlaunch::launcher {

/// How the user wrote an option, for errors: "--include=w1:7".
using OptionSpelling = std::function<std::string(std::string_view option)>;

/// One part of --include or --exclude: "w3:0,2".
struct HostChoice {
    std::string name;
    std::vector<int> slots;  ///< sorted, each once; empty: the whole host
    bool operator==(const HostChoice&) const = default;
};

/// Reads "w1@w3:0,2". A part may have ranges of hosts, w[1-3]:0. If a host is in several parts, its last one counts.
[[nodiscard]] base::Result<std::vector<HostChoice>> parse_choices(std::string_view text);

struct Selection {
    std::vector<HostChoice> include, exclude;  ///< at most one of them
    std::optional<int> num_nodes, num_gpus;    ///< the first ones; neither beside include or exclude
};

/// A host of the job.
struct SelectedHost {
    std::string name;
    std::string user = {};
    std::optional<int> slots = {};   ///< as listed, or the number of those chosen
    std::vector<int> slot_ids = {};  ///< numbers of devices; empty: there was no choice among the slots
    bool operator==(const SelectedHost&) const = default;
};

/// `hosts` names each host once; the result keeps their order. Hosts without a number of slots take any slots of
/// `include`.
[[nodiscard]] base::Result<std::vector<SelectedHost>> select_hosts(const std::vector<HostEntry>& hosts,
                                                                   const Selection& selection,
                                                                   const OptionSpelling& spelling);

}  // namespace dlaunch::launcher
