#include "rendezvous/rounds/named_host.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rendezvous/base/host_names.hpp"

namespace dlaunch::rendezvous {
namespace {

/// The only node that a word names; null: none yet. `many`: several nodes, so none of them.
struct Meaning {
    const Node* node = nullptr;
    bool many = false;
};

using Meanings = std::unordered_map<std::string, Meaning>;

Meanings words_of(const Causes& causes) {
    Meanings words;
    for (const auto& [id, cause] : causes.all())
        if (cause.strength > Cause::kUnclear)
            for (const std::string& word : cause.lost_hosts) words[base::lower_name(word)];
    return words;
}

void add_meaning(Meanings& words, const std::string& word, const Node& node) {
    const auto found = words.find(word);
    if (found == words.end() || found->second.node == &node) return;
    found->second.many = found->second.node != nullptr;
    found->second.node = &node;
}

void find_meanings(Meanings& words, const Roster& roster) {
    for (const auto& [id, node] : roster.all()) {
        if (node.state == MemberState::none) continue;
        const std::string host = base::lower_name(node.record.host);
        for (const std::string& name :
             {host, host.substr(0, host.find('.')), node.record.address, node.record.other_address})
            if (!name.empty()) add_meaning(words, name, node);
    }
}

}  // namespace

std::optional<NamedRank> rank_named_by_host(const Causes& causes, const Roster& roster) {
    Meanings words = words_of(causes);
    if (words.empty()) return std::nullopt;
    find_meanings(words, roster);
    std::vector<std::pair<const Node*, int>> votes;
    for (const auto& [id, cause] : causes.all()) {
        if (cause.strength <= Cause::kUnclear) continue;
        std::set<const Node*> of_this_cause;
        for (const std::string& word : cause.lost_hosts) {
            const Meaning& meaning = words.at(base::lower_name(word));
            const Node* const node = meaning.many ? nullptr : meaning.node;
            if (!node || node->record.id == id || node->assigned.ranks.workers() != 1) continue;
            if (!of_this_cause.insert(node).second) continue;
            const auto known = std::ranges::find(votes, node, [](const auto& vote) { return vote.first; });
            if (known == votes.end())
                votes.emplace_back(node, 1);
            else
                ++known->second;
        }
    }
    if (votes.empty()) return std::nullopt;
    const auto weight = [&](const std::pair<const Node*, int>& vote) {
        const bool has_failed = std::ranges::any_of(causes.all(), [&](const auto& reported) {
            return reported.first == vote.first->record.id && reported.second.strength < Cause::kNoFailure;
        });
        return std::pair(!has_failed, vote.second);
    };
    const Node& best = *std::ranges::max_element(votes, {}, weight)->first;
    return NamedRank{best.assigned.ranks.ranges().front().first, best.record.host};
}

}  // namespace dlaunch::rendezvous
