#pragma once
/// The failures of a round, one per node, in the order of their reports. The first cause is the strongest one; of
/// equally strong ones the one that was reported first.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Causes {
public:
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

    void clear() { all_.clear(); }
    /// The node has reported a cause, but another node's is the first cause.
    [[nodiscard]] bool is_later(const std::string& node) const {
        return std::any_of(all_.begin(), all_.end(), [&](const auto& known) { return known.first == node; }) &&
               strongest()->first != node;
    }
    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] const Cause& first() const { return strongest()->second; }

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
    using Reported = std::pair<std::string, Cause>;

    static bool is_stronger(const Reported& one, const Reported& other) {
        return one.second.strength < other.second.strength;
    }
    [[nodiscard]] std::vector<Reported>::const_iterator strongest() const {
        return std::min_element(all_.begin(), all_.end(), is_stronger);
    }

    std::vector<Reported> all_;
};

}  // namespace dlaunch::rendezvous
