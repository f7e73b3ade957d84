#include "rendezvous/wire/rank_layout.hpp"

#include <algorithm>
#include <stdexcept>

namespace dlaunch::rendezvous {

RankLayout::Place RankLayout::find(std::int32_t local_rank) const {
    std::int32_t offset = local_rank;
    for (const RankBlock& block : blocks) {
        if (offset < block.count) return {block, offset};
        offset -= block.count;
    }
    throw std::out_of_range("no worker of this node has local rank " + std::to_string(local_rank));
}

std::int32_t RankLayout::workers() const {
    std::int32_t total = 0;
    for (const RankBlock& block : blocks) total += block.count;
    return total;
}

std::int32_t RankLayout::rank(std::int32_t local_rank) const {
    const Place at = find(local_rank);
    return at.block.first_rank + at.offset;
}

std::int32_t RankLayout::role_rank(std::int32_t local_rank) const {
    const Place at = find(local_rank);
    return at.block.first_role_rank + at.offset;
}

std::int32_t RankLayout::role_world_size(std::int32_t local_rank) const {
    return find(local_rank).block.role_world_size;
}

std::int64_t count_of(const RankRanges& ranges) {
    std::int64_t count = 0;
    for (const RankRange& range : ranges) count += range.count;
    return count;
}

RankRanges ranges_of(std::vector<std::int32_t> ranks) {
    RankRanges ranges;
    for (const std::int32_t rank : ranks) ranges.push_back({rank, 1});
    unite(ranges, {});
    return ranges;
}

void unite(RankRanges& ranges, const RankRanges& others) {
    ranges.insert(ranges.end(), others.begin(), others.end());
    std::ranges::sort(ranges, {}, &RankRange::first);
    std::size_t last = 0;
    for (std::size_t at = 1; at < ranges.size(); ++at) {
        const std::int32_t end = ranges[last].first + ranges[last].count;
        if (ranges[at].first > end)
            ranges[++last] = ranges[at];
        else
            ranges[last].count = std::max(end, ranges[at].first + ranges[at].count) - ranges[last].first;
    }
    if (!ranges.empty()) ranges.resize(last + 1);
}

std::vector<std::int32_t> ranks_of(const RankRanges& ranges) {
    std::vector<std::int32_t> ranks;
    for (const auto& [first, count] : ranges)
        for (std::int32_t rank = first; rank - first < count; ++rank) ranks.push_back(rank);
    return ranks;
}

std::vector<RankRange> RankLayout::ranges() const {
    std::vector<RankRange> found;
    for (const RankBlock& block : blocks) {
        if (!found.empty() && found.back().first + found.back().count == block.first_rank)
            found.back().count += block.count;
        else
            found.push_back({block.first_rank, block.count});
    }
    return found;
}

std::string RankLayout::text() const {
    std::string text;
    for (const auto& [first, count] : ranges()) {
        if (!text.empty()) text += ',';
        text += std::to_string(first);
        if (count > 1) text += '-' + std::to_string(first + count - 1);
    }
    return text;
}

}  // namespace dlaunch::rendezvous
