#include "launcher/hosts/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "launcher/hosts/host_pattern.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// "0,2".
std::optional<std::vector<int>> parse_slot_ids(std::string_view text) {
    std::vector<int> ids;
    for (const std::string_view part : base::split(text, ',')) {
        int id = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
        if (error != std::errc() || end != part.data() + part.size() || id < 0 || id >= kMostSlots) return std::nullopt;
        ids.push_back(id);
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

std::vector<int> first_ids(int count) {
    std::vector<int> ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

Result<void> check_contradictions(const Selection& selection, const OptionSpelling& spelling) {
    std::vector<std::string> filters, limits;
    if (!selection.include.empty()) filters.push_back(spelling("include"));
    if (!selection.exclude.empty()) filters.push_back(spelling("exclude"));
    if (selection.num_nodes) limits.push_back(spelling("num-nodes"));
    if (selection.num_gpus) limits.push_back(spelling("num-gpus"));
    if (filters.size() == 2)
        return Error{fmt::format("{} and {} contradict each other, expected one of them", filters[0], filters[1])};
    if (!filters.empty() && !limits.empty())
        return Error{fmt::format("{} and {} contradict each other, expected one of them", filters[0], limits[0])};
    return {};
}

/// The hosts, found by their names.
class Pool {
public:
    explicit Pool(const std::vector<HostEntry>& hosts) : hosts_(hosts) {
        for (const HostEntry& host : hosts) by_name_.emplace(host.name, &host);
        // Beside hosts with slots, one without them has one.
        if (std::ranges::any_of(hosts, [](const HostEntry& host) { return host.slots.has_value(); })) uncounted_ = 1;
    }

    /// Whether the host of a choice is there, and its slots.
    Result<void> check(const HostChoice& choice, bool must_be_counted) const {
        const auto found = by_name_.find(choice.name);
        if (found == by_name_.end())
            return Error{
                fmt::format("host {}, expected one of the {} hosts that were given", choice.name, hosts_.size())};
        if (choice.slots.empty()) return {};
        const std::optional<int> slots = found->second->slots ? found->second->slots : uncounted_;
        if (!slots && must_be_counted)
            return Error{fmt::format("slots of {}, expected its number of slots where it is listed, as {}:8",
                                     choice.name, choice.name)};
        if (slots && choice.slots.back() >= *slots)
            return Error{fmt::format("slot {} of {}, expected one of its {} slot{}, from 0", choice.slots.back(),
                                     choice.name, *slots, *slots == 1 ? "" : "s")};
        return {};
    }

private:
    const std::vector<HostEntry>& hosts_;
    std::unordered_map<std::string_view, const HostEntry*> by_name_;
    std::optional<int> uncounted_;  ///< slots of a host whose number is not known
};

std::vector<SelectedHost> included(const std::vector<HostEntry>& hosts, const std::vector<HostChoice>& choices) {
    std::unordered_map<std::string_view, const HostChoice*> last;
    for (const HostChoice& choice : choices) last[choice.name] = &choice;
    std::vector<SelectedHost> selected;
    for (const HostEntry& host : hosts) {
        const auto found = last.find(host.name);
        if (found == last.end()) continue;
        const std::vector<int>& ids = found->second->slots;
        selected.push_back({host.name, host.user, ids.empty() ? host.slots : static_cast<int>(ids.size()), ids});
    }
    return selected;
}

std::vector<SelectedHost> not_excluded(const std::vector<HostEntry>& hosts, const std::vector<HostChoice>& choices) {
    std::unordered_set<std::string_view> whole;
    std::unordered_map<std::string_view, std::unordered_set<int>> some;
    for (const HostChoice& choice : choices) {
        if (choice.slots.empty()) whole.insert(choice.name);
        some[choice.name].insert(choice.slots.begin(), choice.slots.end());
    }
    std::vector<SelectedHost> selected;
    for (const HostEntry& host : hosts) {
        if (whole.contains(host.name)) continue;
        SelectedHost left{host.name, host.user, host.slots, {}};
        if (const auto without = some.find(host.name); without != some.end()) {
            left.slot_ids = first_ids(host.slots.value_or(0));
            std::erase_if(left.slot_ids, [&](int id) { return without->second.contains(id); });
            left.slots = static_cast<int>(left.slot_ids.size());
        }
        if (left.slots != 0) selected.push_back(std::move(left));
    }
    return selected;
}

/// --num_nodes and --num_gpus.
Result<std::vector<SelectedHost>> first_ones(const std::vector<HostEntry>& hosts, const Selection& selection,
                                             const OptionSpelling& spelling) {
    const auto nodes = selection.num_nodes ? static_cast<std::size_t>(*selection.num_nodes) : hosts.size();
    if (nodes > hosts.size())
        return Error{fmt::format("{}: {} nodes, expected at most {}, the number of hosts", spelling("num-nodes"), nodes,
                                 hosts.size())};
    std::vector<SelectedHost> selected;
    for (std::size_t at = 0; at < nodes; ++at) {
        const HostEntry& host = hosts[at];
        selected.push_back({host.name, host.user, host.slots, {}});
        if (!selection.num_gpus) continue;
        if (host.slots && *selection.num_gpus > *host.slots)
            return Error{fmt::format("{}: {} GPUs of {}, expected at most {}, its slots", spelling("num-gpus"),
                                     *selection.num_gpus, host.name, *host.slots)};
        selected.back().slots = *selection.num_gpus;
        selected.back().slot_ids = first_ids(*selection.num_gpus);
    }
    return selected;
}

}  // namespace

Result<std::vector<HostChoice>> parse_choices(std::string_view text) {
    std::vector<HostChoice> choices;
    for (const std::string_view part : base::split(text, '@')) {
        const HostItem item = cut_slots(part);
        const auto ids = item.slots ? parse_slot_ids(*item.slots) : std::vector<int>();
        if (item.host.empty() || !ids)
            return Error{fmt::format("{}: expected hosts with '@' between them, as HOST or HOST:0,2",
                                     part.empty() ? "an empty name" : shown_pattern(part))};
        auto names = expand_host(item.host, kMostHosts - choices.size());
        if (!names) return names.error();
        for (std::string& name : *names) choices.push_back({std::move(name), *ids});
    }
    return choices;
}

Result<std::vector<SelectedHost>> select_hosts(const std::vector<HostEntry>& hosts, const Selection& selection,
                                               const OptionSpelling& spelling) {
    if (auto done = check_contradictions(selection, spelling); !done) return done.error();
    if (selection.include.empty() && selection.exclude.empty()) return first_ones(hosts, selection, spelling);
    const bool includes = !selection.include.empty();
    const std::string option = spelling(includes ? "include" : "exclude");
    const auto& choices = includes ? selection.include : selection.exclude;
    const Pool pool(hosts);
    for (const HostChoice& choice : choices)
        if (auto known = pool.check(choice, !includes); !known) return known.error().within(option);
    auto selected = includes ? included(hosts, choices) : not_excluded(hosts, choices);
    if (selected.empty()) return Error{option + ": no host is left, expected one at least"};
    return selected;
}

}  // namespace dlaunch::launcher
