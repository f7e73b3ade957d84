#include "agent/mpi/process_mapping.hpp"

#include <fmt/format.h>

namespace dlaunch::agent {
namespace {

/// Consecutive nodes with the same number of consecutive ranks on each.
struct Block {
    int first_node, nodes, ranks;
};

}  // namespace

std::string process_mapping(const std::vector<int>& nodes) {
    std::vector<Block> blocks;
    for (std::size_t at = 0; at < nodes.size();) {
        std::size_t end = at + 1;
        while (end < nodes.size() && nodes[end] == nodes[at]) ++end;
        const auto ranks = static_cast<int>(end - at);
        const bool continues = !blocks.empty() && blocks.back().ranks == ranks &&
                               blocks.back().first_node + blocks.back().nodes == nodes[at];
        if (continues)
            ++blocks.back().nodes;
        else
            blocks.push_back({nodes[at], 1, ranks});
        at = end;
    }
    std::string text = "(vector";
    for (const Block& block : blocks) text += fmt::format(",({},{},{})", block.first_node, block.nodes, block.ranks);
    return text + ")";
}

}  // namespace dlaunch::agent
