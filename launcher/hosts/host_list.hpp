#pragma once
/// Host lists in SLURM's and pdsh's grammar, with users and slots: "ann@node[01-03,7]-ib:4,login". No I/O.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

inline constexpr int kMostSlots = 65'536;  ///< of one host

/// A host as its user named it.
struct HostEntry {
    std::string name;               ///< a name or an address; an IPv6 address is in brackets in the list only
    std::string user = {};          ///< empty: none was given
    std::optional<int> slots = {};  ///< from 1
    bool operator==(const HostEntry&) const = default;

    /// As in a list: "ann@node1:4".
    [[nodiscard]] std::string text() const;
};

/// Expands a list in order; repeated names stay. Blanks around an item are ignored. Errors contain the item or the
/// range that is wrong.
[[nodiscard]] base::Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// The names alone, as of SLURM's lists.
[[nodiscard]] base::Result<std::vector<std::string>> parse_host_names(std::string_view text);

/// The first entry whose name an earlier one has; null: none.
[[nodiscard]] const HostEntry* repeated_host(const std::vector<HostEntry>& hosts);

/// An item of a list, without its user, at the colon before its slots.
struct HostItem {
    std::string_view host;
    std::optional<std::string_view> slots;
};
[[nodiscard]] HostItem cut_slots(std::string_view text);

/// Expands a pattern, or takes an IPv6 address out of its brackets.
[[nodiscard]] base::Result<std::vector<std::string>> expand_host(std::string_view host, std::size_t most);

/// Reads ":SLOTS" without the colon; none: no number from 1 to kMostSlots.
[[nodiscard]] std::optional<int> parse_slots(std::string_view text);

}  // namespace dlaunch::launcher
