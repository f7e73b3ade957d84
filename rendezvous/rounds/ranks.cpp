#include "rendezvous/rounds/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace dlaunch::rendezvous {
namespace {

constexpr std::int32_t kFree = -1;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The digits at `at` without leading zeros; `at` moves behind them.
std::string_view take_number(std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(start, at - start);
}

/// Two requests that claim one rank, or none.
std::optional<std::string> conflict(const std::vector<RankRequest>& requests) {
    std::map<std::int32_t, const RankRequest*> claims;
    for (const RankRequest& request : requests) {
        if (!request.claimed) continue;
        auto [found, fresh] = claims.emplace(*request.claimed, &request);
        if (!fresh)
            return fmt::format("--node-rank={} was given to {} and to {}: ranks follow the order of host names",
                               *request.claimed, found->second->host, request.host);
    }
    return std::nullopt;
}

class Table {
public:
    explicit Table(std::size_t size) : request_of_(size, kFree), rank_of_(size, kFree) {}

    void give(std::size_t request, std::optional<std::int32_t> rank) {
        if (rank_of_[request] != kFree || !rank || *rank < 0 || static_cast<std::size_t>(*rank) >= request_of_.size())
            return;
        auto& holder = request_of_[static_cast<std::size_t>(*rank)];
        if (holder != kFree) return;
        holder = static_cast<std::int32_t>(request);
        rank_of_[request] = *rank;
    }

    void fill_hole(std::size_t request) {
        if (rank_of_[request] != kFree) return;
        while (request_of_[next_] != kFree) ++next_;
        give(request, static_cast<std::int32_t>(next_));
    }

    [[nodiscard]] std::size_t request_of(std::size_t rank) const { return static_cast<std::size_t>(request_of_[rank]); }

private:
    std::vector<std::int32_t> request_of_, rank_of_;
    std::size_t next_ = 0;
};

/// The requests in the order in which holes are filled.
std::vector<std::size_t> natural_order(const std::vector<RankRequest>& requests, bool heed_claims) {
    const bool by_key = std::none_of(requests.begin(), requests.end(),
                                     [](const RankRequest& request) { return request.order_key.empty(); });
    std::vector<std::size_t> order(requests.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t l, std::size_t r) {
        const RankRequest &left = requests[l], &right = requests[r];
        if (heed_claims && left.claimed != right.claimed) {
            if (!left.claimed || !right.claimed) return left.claimed.has_value();
            return *left.claimed < *right.claimed;
        }
        const std::string &a = by_key ? left.order_key : left.host, &b = by_key ? right.order_key : right.host;
        if (natural_less(a, b)) return true;
        if (natural_less(b, a)) return false;
        return left.arrival < right.arrival;
    });
    return order;
}

/// Visits all blocks, as (request, block), in the order of the global ranks.
template <class Visit>
void for_blocks_by_rank(const std::vector<RankRequest>& requests, const Table& table, Visit visit) {
    std::map<std::int32_t, std::vector<std::pair<std::size_t, std::size_t>>> contexts;
    for (std::size_t rank = 0; rank < requests.size(); ++rank) {
        const std::size_t at = table.request_of(rank);
        for (std::size_t block = 0; block < requests[at].blocks.size(); ++block)
            contexts[requests[at].blocks[block].appnum].emplace_back(at, block);
    }
    for (const auto& [appnum, blocks] : contexts)
        for (const auto& [at, block] : blocks) visit(at, block);
}

void number_workers(const std::vector<RankRequest>& requests, const Table& table, Placements& result) {
    std::int32_t world = 0;  // the coordinator admits no node with which it would overflow
    std::map<std::string, std::int32_t> in_role;
    for_blocks_by_rank(requests, table, [&](std::size_t at, std::size_t number) {
        const WorkerBlock& block = requests[at].blocks[number];
        std::int32_t& role_size = in_role[block.role];
        result.of[at].ranks.blocks.push_back({block.count, world, role_size, 0});
        world += block.count;
        role_size += block.count;
    });
    for (std::size_t rank = 0; rank < requests.size(); ++rank) {
        const std::size_t at = table.request_of(rank);
        Placement& placement = result.of[at];
        placement.group_rank = static_cast<std::int32_t>(rank);
        placement.world_size = world;
        for (std::size_t block = 0; block < placement.ranks.blocks.size(); ++block)
            placement.ranks.blocks[block].role_world_size = in_role[requests[at].blocks[block].role];
    }
}

}  // namespace

bool natural_less(std::string_view left, std::string_view right) {
    std::size_t l = 0, r = 0;
    while (l < left.size() && r < right.size()) {
        if (is_digit(left[l]) && is_digit(right[r])) {
            const std::string_view a = take_number(left, l), b = take_number(right, r);
            if (a.size() != b.size()) return a.size() < b.size();
            if (a != b) return a < b;
        } else if (left[l] != right[r]) {
            return left[l] < right[r];
        } else {
            ++l, ++r;
        }
    }
    return left.size() - l < right.size() - r;
}

Placements place(const std::vector<RankRequest>& requests) {
    Placements result;
    result.of.resize(requests.size());
    auto warning = conflict(requests);
    if (warning) result.warning = std::move(*warning);
    const bool heed_claims = result.warning.empty();

    Table table(requests.size());
    const auto order = natural_order(requests, heed_claims);
    if (heed_claims)
        for (std::size_t request : order) table.give(request, requests[request].claimed);
    for (bool survivors : {true, false})
        for (std::size_t request : order)
            if (requests[request].survivor == survivors) table.give(request, requests[request].last);
    for (std::size_t request : order) table.fill_hole(request);
    number_workers(requests, table, result);
    return result;
}

}  // namespace dlaunch::rendezvous
