#include "rendezvous/rounds/standby_list.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace dlaunch::rendezvous {
namespace {

bool is_spare(const Node& node) { return node.state == MemberState::none; }
bool may_stand_by(const Node& node) { return node.record.standby_port > 0 && !node.leaving; }

}  // namespace

/// Every standby is still there, and there are as many of them, and as many spares among them, as there may be.
bool StandbyList::suffices(const Roster& roster) const {
    std::size_t spares = 0;
    for (const std::string& id : ids_) {
        const auto node = roster.all().find(id);
        if (node == roster.all().end() || !may_stand_by(node->second)) return false;
        if (is_spare(node->second)) ++spares;
    }
    return ids_.size() >= std::min(roster.size(), Standbys::kMost) &&
           spares >= std::min(roster.count(MemberState::none), Standbys::kMost);
}

bool StandbyList::renew(const Roster& roster, std::int32_t round) {
    if (std::exchange(revision_, roster.revision()) == roster.revision()) return false;
    if (std::exchange(round_, round) == round && suffices(roster)) return false;
    const auto order = [this](const Node* node) {
        const auto place = is_spare(*node) ? static_cast<std::int64_t>(node->arrival) : node->last_rank.value_or(0);
        return std::tuple(node->record.host == host_, !is_spare(*node), place);
    };
    const auto is_before = [&](const Node* left, const Node* right) { return order(left) < order(right); };
    std::vector<const Node*> best;
    for (const auto& [id, node] : roster.all()) {
        if (!may_stand_by(node)) continue;
        best.insert(std::ranges::upper_bound(best, &node, is_before), &node);
        if (best.size() > Standbys::kMost) best.pop_back();
    }
    std::vector<std::string> ids;
    for (const Node* node : best) ids.push_back(node->record.id);
    const bool is_same = std::ranges::is_permutation(ids, ids_);
    ids_ = std::move(ids);
    return !is_same;
}

std::vector<StandbyPlace> StandbyList::places(const Roster& roster) const {
    std::vector<StandbyPlace> places;
    for (const std::string& id : ids_)
        if (const auto node = roster.all().find(id); node != roster.all().end())
            places.push_back({node->second.record.address, node->second.record.standby_port});
    return places;
}

}  // namespace dlaunch::rendezvous
