#pragma once
/// The failures of a round, one per node, in the order of their reports. The first cause is the strongest one; of
/// equally strong ones the one that was reported first, but of early exits the earliest.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Causes {
public:
    /// The longest time from an exit with 0 to the failures of its peers: a rank that exited before had finished its
    /// part.
    static constexpr Milliseconds kShortly{1000};
    static constexpr std::size_t kMost = 16;  ///< causes, one per node: a report shows no more
    /// Limit of all records together: each of ten thousand agents receives them. The first record is sent at any size.
    static constexpr std::size_t kMostBytes = 256 << 10;

    /// A node sends its cause again with more detail when its round is over: the later report replaces the earlier one.
    void add(const std::string& node, const Cause& cause) {
        for (auto& [known, latest] : all_)
            if (known == node) {
                latest = cause;
                return;
            }
        if (all_.size() >= kMost) {
            const auto weakest = std::max_element(all_.rbegin(), all_.rend(), is_stronger);
            if (weakest->second.strength <= cause.strength) return;
            all_.erase(std::prev(weakest.base()));
        }
        all_.emplace_back(node, cause);
    }

    /// The messages of lost peers name this rank by its host: it is the first cause, with the status and the record of
    /// the one before.
    void name(std::int32_t rank, std::string summary) {
        named_rank_ = rank;
        Cause& first = all_[static_cast<std::size_t>(strongest() - all_.begin())].second;
        first.summary = std::move(summary);
        first.message.clear();
        first.strength = Cause::kUnclear;
    }
    /// The first cause by all records together, with the records of the nodes.
    void judged(Cause cause) {
        cause.record = first().record;
        judged_ = std::move(cause);
    }
    /// A node that exited with 0 shortly before the first cause, a lost peer, or before another early exit: the
    /// earliest is the first cause, with the status of the one before.
    void add_early_exit(const std::string& node, const Cause& exit) {
        const Cause& before = first();
        const bool is_earlier =
            before.strength > Cause::kEarlyExit || (before.strength == Cause::kEarlyExit && exit.after < before.after);
        if (!is_earlier || exit.after < before.after - kShortly) return;
        Cause made = exit;
        made.status = before.status;
        add(node, made);
    }
    [[nodiscard]] std::int32_t named_rank() const { return named_rank_; }

    using Reported = std::pair<std::string, Cause>;
    /// By node, in the order of the reports.
    [[nodiscard]] const std::vector<Reported>& all() const { return all_; }

    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] const Cause& first() const { return judged_ ? *judged_ : strongest()->second; }

    /// The first cause's record first.
    [[nodiscard]] std::vector<std::string> records() const {
        std::vector<std::string> records;
        if (all_.empty()) return records;
        std::size_t bytes = 0;
        const auto add = [&](const Cause& cause) {
            if (cause.record.empty() || (!records.empty() && bytes + cause.record.size() > kMostBytes)) return;
            bytes += cause.record.size();
            records.push_back(cause.record);
        };
        add(first());
        for (auto each = all_.begin(); each != all_.end(); ++each)
            if (each != strongest()) add(each->second);
        return records;
    }

private:
    static bool is_stronger(const Reported& one, const Reported& other) {
        if (one.second.strength == Cause::kEarlyExit && other.second.strength == Cause::kEarlyExit)
            return one.second.after < other.second.after;
        return one.second.strength < other.second.strength;
    }
    [[nodiscard]] std::vector<Reported>::const_iterator strongest() const {
        return std::min_element(all_.begin(), all_.end(), is_stronger);
    }

    std::vector<Reported> all_;
    std::optional<Cause> judged_;
    std::int32_t named_rank_ = -1;
};

}  // namespace dlaunch::rendezvous
