#pragma once
/// Nodes that wait to be admitted: nodes of hosts in a cool-down, and newcomers to a running round, which are admitted
/// together. No I/O, no clock.

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class Admission {
public:
    // --- nodes of repeatedly lost hosts ---
    void cool(const std::string& node, Time until) { cooling_[node] = until; }
    /// Newcomers, too.
    void gone(const std::string& node) {
        cooling_.erase(node);
        const auto newcomer = newcomers_.find(node);
        if (newcomer == newcomers_.end()) return;
        by_arrival_.erase(newcomer->second);
        newcomers_.erase(newcomer);
    }
    [[nodiscard]] bool is_cooling(const std::string& node) const { return cooling_.contains(node); }
    [[nodiscard]] std::size_t cooling() const { return cooling_.size(); }
    template <class Matches>
    [[nodiscard]] std::size_t cooling(Matches matches) const {
        return static_cast<std::size_t>(
            std::count_if(cooling_.begin(), cooling_.end(), [&](const auto& node) { return matches(node.first); }));
    }
    /// Ends the cool-downs that are over; returns their nodes.
    [[nodiscard]] std::vector<std::string> warm(Time now) {
        std::vector<std::string> nodes;
        std::erase_if(cooling_, [&](const auto& node) {
            if (now >= node.second) nodes.push_back(node.first);
            return now >= node.second;
        });
        return nodes;
    }

    // --- newcomers: each one restarts the waiting time of all ---
    /// The longest wait of a newcomer, in last calls: nodes that join and leave again must not delay it forever.
    static constexpr int kMostLastCalls = 4;

    /// `now` never goes back.
    void wait(Time now, const std::string& node, Milliseconds last_call) {
        gone(node);
        newcomers_[node] = by_arrival_.insert(by_arrival_.end(), now + kMostLastCalls * last_call);
        until_ = now + last_call;
    }
    void admitted() {
        newcomers_.clear();
        by_arrival_.clear();
        until_ = kNever;
    }
    [[nodiscard]] bool waits(const std::string& node) const { return newcomers_.contains(node); }
    [[nodiscard]] bool is_due(Time now) const { return now >= deadline(); }
    [[nodiscard]] Time deadline() const { return by_arrival_.empty() ? until_ : std::min(until_, by_arrival_.front()); }

private:
    std::map<std::string, Time> cooling_;  ///< by node id
    std::list<Time> by_arrival_;           ///< latest admission of each newcomer, in the order of arrival
    std::unordered_map<std::string, std::list<Time>::iterator> newcomers_;  ///< by node id
    Time until_ = kNever;
};

}  // namespace dlaunch::rendezvous
