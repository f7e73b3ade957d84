#pragma once
/// The latest incarnation of each node that was removed: a join with it is refused. No I/O, no clock.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class RemovedNodes {
public:
    static constexpr std::size_t kMany = 1'024;  ///< above this number old entries are dropped
    /// An incarnation that was removed earlier has fenced itself long since.
    static constexpr auto kOld = Milliseconds(600'000);
    /// Limit under a flood of joins: several times the nodes of the largest job. After its entry is dropped, a removed
    /// incarnation joins as a newcomer; with living workers it is refused, because the coordinator does not know its
    /// round.
    static constexpr std::size_t kMost = 65'536;

    RemovedNodes() = default;
    RemovedNodes(const RemovedNodes&) = delete;
    RemovedNodes& operator=(const RemovedNodes&) = delete;

    /// `now` never goes back.
    void add(Time now, const std::string& id, std::uint64_t incarnation) {
        if (const auto known = by_id_.find(id); known != by_id_.end()) erase(known->second);
        by_time_.push_back({id, incarnation, now});
        by_id_.emplace(by_time_.back().id, std::prev(by_time_.end()));
        while (by_time_.size() > kMost || (by_time_.size() > kMany && now - by_time_.front().at >= kOld))
            erase(by_time_.begin());
    }
    [[nodiscard]] std::optional<std::uint64_t> incarnation(const std::string& id) const {
        const auto known = by_id_.find(id);
        if (known == by_id_.end()) return std::nullopt;
        return known->second->incarnation;
    }
    [[nodiscard]] std::size_t size() const { return by_time_.size(); }

private:
    struct Removed {
        std::string id;
        std::uint64_t incarnation = 0;
        Time at;
    };
    using ByTime = std::list<Removed>;

    void erase(ByTime::iterator removed) {
        by_id_.erase(removed->id);
        by_time_.erase(removed);
    }

    ByTime by_time_;                                                ///< oldest first
    std::unordered_map<std::string_view, ByTime::iterator> by_id_;  ///< keys are the ids in by_time_
};

}  // namespace dlaunch::rendezvous
