#include "rendezvous/rounds/assignments.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/rounds/ranks.hpp"

namespace dlaunch::rendezvous {
namespace {

/// The address of `host` in the IP version that all nodes have; else its first address.
std::string reachable_for_all(const NodeRecord& host, const std::vector<Node*>& all) {
    const auto is_six = [](const std::string& address) { return address.find(':') != std::string::npos; };
    const auto all_have = [&](bool six) {
        return std::all_of(all.begin(), all.end(), [&](const Node* node) {
            const std::string& other = node->record.other_address;
            return is_six(node->record.address) == six || (!other.empty() && is_six(other) == six);
        });
    };
    const bool other_is_better =
        !host.other_address.empty() && !all_have(is_six(host.address)) && all_have(is_six(host.other_address));
    return other_is_better ? host.other_address : host.address;
}

/// Group rank 0 may lack the first context.
bool has_rank_zero(const Placement& place) { return place.ranks.blocks.front().first_rank == 0; }

}  // namespace

Assignments assign_ranks(const std::vector<Node*>& nodes, const Assigned& common, const JobConfig& job) {
    std::vector<RankRequest> requests;
    requests.reserve(nodes.size());
    for (const Node* node : nodes)
        requests.push_back({node->record.host, node->record.order_key, node->record.node_rank, node->last_rank,
                            node->survivor, node->arrival, node->record.blocks});
    Placements placements = place(requests);
    const auto first = static_cast<std::size_t>(std::find_if(placements.of.begin(), placements.of.end(),
                                                             [](const Placement& at) { return at.group_rank == 0; }) -
                                                placements.of.begin());
    const NodeRecord& host = nodes[first]->record;
    const auto begin = static_cast<std::size_t>(
        std::find_if(placements.of.begin(), placements.of.end(), has_rank_zero) - placements.of.begin());
    const NodeRecord& jax_host = nodes[begin]->record;

    Assignments result{std::vector<Assigned>(nodes.size(), common), std::move(placements.warning)};
    const std::string address = job.master_addr.empty() ? reachable_for_all(host, nodes) : job.master_addr;
    const std::string jax_address = begin == first ? "" : reachable_for_all(jax_host, nodes);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
        Placement& place = placements.of[at];
        Assigned& assigned = result.of[at];
        assigned.group_rank = place.group_rank;
        assigned.group_world_size = static_cast<std::int32_t>(nodes.size());
        assigned.world_size = place.world_size;
        assigned.ranks = std::move(place.ranks);
        assigned.master_addr = address;
        assigned.master_port = job.master_port.value_or(host.store_port);
        assigned.relayed = job.relays_store;
        assigned.jax_addr = jax_address;
        assigned.jax_port = jax_host.jax_port;
    }
    return result;
}

}  // namespace dlaunch::rendezvous
