#include "agent/mpi/world.hpp"

#include <fmt/format.h>

#include <charconv>

namespace dlaunch::agent {
namespace {

/// The number at the front of `text`, which loses it and the character after it. None: it does not begin with one.
std::optional<int> take_number(std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
    return number;
}

}  // namespace

NodeRanks ranks_here(const Plan& plan, const Assignment& assignment) {
    NodeRanks node{plan.host.name, {}};
    for (std::size_t at = 0; at < assignment.ranks.blocks.size(); ++at) {
        const auto& block = assignment.ranks.blocks[at];
        node.spans.push_back({block.first_rank, block.count, at < plan.contexts.size() ? plan.contexts[at].appnum : 0});
    }
    return node;
}

std::string encode(const NodeRanks& node) {
    std::string text;
    for (const RankSpan& span : node.spans) text += fmt::format("{}+{}@{},", span.first, span.count, span.appnum);
    return text + " " + node.host;
}

std::optional<NodeRanks> decode(std::string_view text) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return std::nullopt;
    NodeRanks node{std::string(text.substr(blank + 1)), {}};
    for (std::string_view spans = text.substr(0, blank); !spans.empty();) {
        const auto first = take_number(spans), count = take_number(spans), appnum = take_number(spans);
        if (!first || !count || !appnum) return std::nullopt;
        node.spans.push_back({*first, *count, *appnum});
    }
    return node;
}

int MpiWorld::size() const {
    int total = 0;
    for (const NodeRanks& node : nodes)
        for (const RankSpan& span : node.spans) total += span.count;
    return total;
}

std::optional<std::vector<int>> MpiWorld::nodes_by_rank() const {
    const int total = size();
    std::vector<int> found(static_cast<std::size_t>(total), -1);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        for (const RankSpan& span : nodes[node].spans) {
            if (span.first > total - span.count) return std::nullopt;
            for (int rank = span.first; rank < span.first + span.count; ++rank)
                found[static_cast<std::size_t>(rank)] = static_cast<int>(node);
        }
    }
    for (const int node : found)
        if (node < 0) return std::nullopt;
    return found;
}

}  // namespace dlaunch::agent
