#include "launcher/hosts/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;
using Kind = WorkerWish::Kind;
using Counts = std::vector<std::int64_t>;

/// Free slots of a host where no host has a number of slots. The sum over all hosts fits 64 bits.
constexpr std::int64_t kEndless = std::int64_t{1} << 40;

/// A host that is being filled.
struct Spot {
    PlacedHost placed;
    std::int64_t free = 0;
};

std::vector<Spot> empty_spots(const std::vector<SelectedHost>& hosts) {
    const bool counted = std::ranges::any_of(hosts, [](const SelectedHost& host) { return host.slots.has_value(); });
    const std::int64_t uncounted = counted ? 1 : kEndless;
    std::vector<Spot> spots;
    for (const SelectedHost& host : hosts) spots.push_back({{host, {}}, host.slots ? *host.slots : uncounted});
    return spots;
}

/// "1 worker", "2 workers".
std::string amount(std::int64_t number, const char* noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::int64_t sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

/// Shares `total`, which is at most the sum of `most`, as evenly as `most` allows; the first ones get the remainder.
Counts share_evenly(std::int64_t total, const Counts& most) {
    const auto below = [&](std::int64_t level) {
        Counts counts = most;
        for (std::int64_t& count : counts) count = std::min(count, level);
        return counts;
    };
    std::int64_t level = 0, beyond = kEndless + 1;  // the level that is reached by all is in [level, beyond)
    while (beyond - level > 1) {
        const std::int64_t middle = level + (beyond - level) / 2;
        (sum(below(middle)) <= total ? level : beyond) = middle;
    }
    Counts counts = below(level);
    std::int64_t rest = total - sum(counts);
    for (std::size_t at = 0; at < counts.size() && rest > 0; ++at)
        if (most[at] > level) {
            ++counts[at];
            --rest;
        }
    return counts;
}

/// Places the contexts that share one list of hosts.
class Filler {
public:
    Filler(const std::vector<WorkerWish>& contexts, const std::vector<SelectedHost>& hosts,
           const OptionSpelling& spelling)
        : contexts_(contexts), spelling_(spelling), spots_(empty_spots(hosts)) {}

    Result<void> fill(const std::vector<std::size_t>& indices, bool by_number_of_nodes) {
        if (auto possible = check_totals(indices); !possible) return possible;
        even_ = by_number_of_nodes || std::ranges::any_of(spots_, [](auto& spot) { return spot.free == kEndless; });
        if (even_)
            if (auto shared = share_totals(indices); !shared) return shared;
        for (const std::size_t index : indices) {
            if (!even_) budget_ = free_slots();
            if (auto done = add(index); !done) return done;
        }
        return {};
    }

    /// The hosts that have workers.
    std::vector<PlacedHost> take() {
        std::vector<PlacedHost> placed;
        for (Spot& spot : spots_)
            if (!spot.placed.shares.empty()) placed.push_back(std::move(spot.placed));
        return placed;
    }

private:
    Counts free_slots() const {
        Counts counts;
        for (const Spot& spot : spots_) counts.push_back(spot.free);
        return counts;
    }

    /// Bounds the numbers of which sums are taken.
    Result<void> check_totals(const std::vector<std::size_t>& indices) const {
        const auto most = static_cast<std::int64_t>(spots_.size()) * kMostSlots;
        for (const std::size_t index : indices)
            if (const WorkerWish& wish = contexts_[index]; wish.kind == Kind::total && wish.number > most)
                return Error{fmt::format("{}: {} workers for {} hosts, expected at most {} slots on a host",
                                         spelling_("nproc-per-node"), wish.number, spots_.size(), kMostSlots)};
        return {};
    }

    /// Sets how many workers of all totals together each host gets.
    Result<void> share_totals(const std::vector<std::size_t>& indices) {
        Counts most = free_slots();
        std::int64_t total = 0;
        for (const std::size_t index : indices) {
            const WorkerWish& wish = contexts_[index];
            if (wish.kind == Kind::total) total += wish.number;
            if (wish.kind == Kind::per_host)
                for (std::int64_t& count : most) count = std::max<std::int64_t>(count - wish.number, 0);
        }
        if (total > sum(most)) return too_many("all programs", total, sum(most));
        budget_ = share_evenly(total, most);
        return {};
    }

    /// With several programs an option's spelling does not show the program.
    Error too_many(const std::string& programs, std::int64_t workers, std::int64_t slots) const {
        const std::string whose = contexts_.size() == 1 ? spelling_("nproc-per-node") : "-n of " + programs;
        return {fmt::format("{}: {} for {}, expected no more workers than slots", whose, amount(workers, "worker"),
                            amount(slots, "free slot"))};
    }

    Result<void> add(std::size_t index) {
        const WorkerWish& wish = contexts_[index];
        switch (wish.kind) {
            case Kind::by_slots: return add_by_slots(index);
            case Kind::per_host: return add_per_host(index, wish.number);
            case Kind::total: return add_total(index, wish.number);
            case Kind::host_knows:
                for (Spot& spot : spots_) spot.placed.shares.push_back({index, 0});
        }
        return {};
    }

    Result<void> add_by_slots(std::size_t index) {
        std::int64_t added = 0;
        for (std::size_t at = 0; at < spots_.size(); ++at) {
            const std::int64_t kept = even_ ? budget_[at] : 0, free = spots_[at].free;
            const std::int64_t count = free == kEndless ? 1 : std::max<std::int64_t>(free - kept, 0);
            if (auto given = give(spots_[at], index, count); !given) return given;
            added += count;
        }
        if (added > 0) return {};
        return Error{fmt::format("{}: no slots are left for the program number {}, expected more slots or -n",
                                 spelling_("nproc-per-node"), index + 1)};
    }

    Result<void> add_per_host(std::size_t index, std::int64_t number) {
        for (Spot& spot : spots_) {
            if (spot.placed.host.slots && number > spot.free)
                return Error{fmt::format("{}: {} for {} of {}, expected no more workers than slots",
                                         spelling_("nproc-per-node"), amount(number, "worker"),
                                         amount(spot.free, "free slot"), spot.placed.host.name)};
            if (auto given = give(spot, index, number); !given) return given;
        }
        return {};
    }

    Result<void> add_total(std::size_t index, std::int64_t number) {
        if (number > sum(budget_))
            return too_many(fmt::format("the program number {}", index + 1), number, sum(budget_));
        for (std::size_t at = 0; at < spots_.size() && number > 0; ++at) {
            const std::int64_t count = std::min(number, budget_[at]);
            if (auto given = give(spots_[at], index, count); !given) return given;
            budget_[at] -= count;
            number -= count;
        }
        return {};
    }

    Result<void> give(Spot& spot, std::size_t index, std::int64_t count) {
        if (count > kMostSlots)
            return Error{fmt::format("{}: {} workers on {}, expected at most {} on a host", spelling_("nproc-per-node"),
                                     count, spot.placed.host.name, kMostSlots)};
        if (count > 0) spot.placed.shares.push_back({index, static_cast<int>(count)});
        if (spot.free != kEndless) spot.free = std::max<std::int64_t>(spot.free - count, 0);
        return {};
    }

    const std::vector<WorkerWish>& contexts_;
    const OptionSpelling& spelling_;
    std::vector<Spot> spots_;
    bool even_ = false;
    Counts budget_;  ///< workers of totals that each host still takes
};

/// The first hosts up to --nnodes; the other hosts are spares.
struct Division {
    std::vector<SelectedHost> hosts, others;
};

Result<Division> divide(const PlacementRequest& request, const OptionSpelling& spelling) {
    Division division{request.hosts, {}};
    if (!request.nodes) return division;
    const auto [min, max] = *request.nodes;
    const auto has = [](Kind kind) { return [kind](const WorkerWish& wish) { return wish.kind == kind; }; };
    if (request.hosts.size() < static_cast<std::size_t>(min))
        return Error{fmt::format("{}: {} nodes, expected at most {}, the number of hosts", spelling("nnodes"), min,
                                 request.hosts.size())};
    if (min < max && std::ranges::any_of(request.contexts, has(Kind::total)))
        return Error{fmt::format("{}: expected a fixed --nnodes with -n, or --nproc-per-node for an elastic job",
                                 spelling("nproc-per-node"))};
    if (std::ranges::any_of(request.contexts, [](const WorkerWish& wish) { return !wish.hosts.empty(); }))
        return Error{fmt::format("{}: expected no number of nodes where several programs have --hosts of their own",
                                 spelling("nnodes"))};
    const std::size_t most = std::min(request.hosts.size(), static_cast<std::size_t>(max));
    division.hosts.resize(most);
    division.others.assign(request.hosts.begin() + static_cast<std::ptrdiff_t>(most), request.hosts.end());
    return division;
}

/// A total has no share for a spare: it gets the largest one of the hosts that it may replace.
std::int64_t largest_share(const std::vector<PlacedHost>& hosts, std::size_t context) {
    int largest = 0;
    for (const PlacedHost& host : hosts)
        for (const Share& share : host.shares)
            if (share.context == context) largest = std::max(largest, share.workers);
    return largest;
}

Result<std::vector<PlacedHost>> place_spares(const std::vector<SelectedHost>& others,
                                             const std::vector<WorkerWish>& contexts,
                                             const std::vector<PlacedHost>& placed, const OptionSpelling& spelling) {
    std::vector<std::size_t> indices(contexts.size());
    std::iota(indices.begin(), indices.end(), 0U);
    std::vector<PlacedHost> spares;
    for (const SelectedHost& host : others) {
        std::vector<WorkerWish> wishes = contexts;
        std::int64_t free = host.slots.value_or(kMostSlots);
        for (std::size_t index = 0; index < wishes.size(); ++index)
            if (wishes[index].kind == Kind::total) {
                wishes[index].number = std::min(largest_share(placed, index), free);
                free -= wishes[index].number;
            }
        Filler filler(wishes, {host}, spelling);
        if (auto filled = filler.fill(indices, false); !filled) return filled.error();
        for (PlacedHost& spare : filler.take()) spares.push_back(std::move(spare));
    }
    return spares;
}

/// Adds the hosts of a further list; a host of several lists is one node.
Result<void> merge(std::vector<PlacedHost>&& more, std::vector<PlacedHost>& hosts) {
    std::unordered_map<std::string, std::size_t> known;
    for (const PlacedHost& host : hosts) known.emplace(host.host.name, known.size());
    for (PlacedHost& host : more) {
        const auto found = known.find(host.host.name);
        if (found == known.end()) {
            hosts.push_back(std::move(host));
            continue;
        }
        PlacedHost& same = hosts[found->second];
        if (same.host.user != host.host.user)
            return Error{fmt::format("host {} with the users {} and {}, expected one user per host", host.host.name,
                                     same.host.user.empty() ? "(none)" : same.host.user,
                                     host.host.user.empty() ? "(none)" : host.host.user)};
        same.shares.insert(same.shares.end(), host.shares.begin(), host.shares.end());
        std::ranges::sort(same.shares, {}, &Share::context);
    }
    return {};
}

}  // namespace

Result<Placement> place(const PlacementRequest& request, const OptionSpelling& spelling) {
    auto division = divide(request, spelling);
    if (!division) return division.error();
    std::vector<std::size_t> sharing;
    for (std::size_t index = 0; index < request.contexts.size(); ++index)
        if (request.contexts[index].hosts.empty()) sharing.push_back(index);
    Placement placement;
    if (!sharing.empty()) {
        Filler filler(request.contexts, division->hosts, spelling);
        if (auto filled = filler.fill(sharing, request.nodes.has_value()); !filled) return filled.error();
        placement.hosts = filler.take();
    }
    if (request.nodes && placement.hosts.size() < division->hosts.size())
        return Error{fmt::format("{}: workers for {} of {} nodes, expected one worker per node at least",
                                 spelling("nproc-per-node"), placement.hosts.size(), division->hosts.size())};
    auto spares = place_spares(division->others, request.contexts, placement.hosts, spelling);
    if (!spares) return spares.error();
    placement.spares = std::move(*spares);
    for (std::size_t index = 0; index < request.contexts.size(); ++index) {
        if (request.contexts[index].hosts.empty()) continue;
        Filler filler(request.contexts, request.contexts[index].hosts, spelling);
        if (auto filled = filler.fill({index}, false); !filled) return filled.error();
        if (auto merged = merge(filler.take(), placement.hosts); !merged) return merged.error();
    }
    const int nodes = static_cast<int>(placement.hosts.size());
    placement.nodes = request.nodes ? NodeLimits{request.nodes->min, nodes} : NodeLimits{nodes, nodes};
    return placement;
}

}  // namespace dlaunch::launcher
