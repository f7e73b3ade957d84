#pragma once
/// The ranks of all nodes in a round. An assignment has those of its own node only, so the agents exchange them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/membership/assignment.hpp"
#include "agent/plan.hpp"

namespace dlaunch::agent {

/// Consecutive ranks of one context on one node.
struct RankSpan {
    int first = 0, count = 0;
    int appnum = 0;
    bool operator==(const RankSpan&) const = default;
};

struct NodeRanks {
    std::string host;  ///< as gethostname(2) returns it; two nodes of a round may have the same
    std::vector<RankSpan> spans;
    bool operator==(const NodeRanks&) const = default;
};

/// This node's part of the world.
[[nodiscard]] NodeRanks ranks_here(const Plan& plan, const Assignment& assignment);
/// One line of text, for the store.
[[nodiscard]] std::string encode(const NodeRanks& node);
[[nodiscard]] std::optional<NodeRanks> decode(std::string_view text);

struct MpiWorld {
    int here = 0;                  ///< this node's index in `nodes`, its group rank
    std::vector<NodeRanks> nodes;  ///< by group rank
    std::uint64_t number = 0;      ///< random; of this round of this job alone, the same on all nodes

    /// Of all nodes.
    [[nodiscard]] int size() const;
    /// The index of each rank's node; none unless the ranks are exactly those from 0 to size() - 1.
    [[nodiscard]] std::optional<std::vector<int>> nodes_by_rank() const;
};

}  // namespace dlaunch::agent
