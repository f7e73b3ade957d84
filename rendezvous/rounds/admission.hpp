#pragma once
/// Nodes that wait for a place: those whose hosts cool down, and newcomers of a running round, which are taken in
/// together. No I/O, no clock.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class Admission {
public:
    // --- nodes whose hosts were lost again and again ---
    void cool(const std::string& node, Time until) { cooling_[node] = until; }
    void gone(const std::string& node) { cooling_.erase(node); }
    [[nodiscard]] bool is_cooling(const std::string& node) const { return cooling_.contains(node); }
    [[nodiscard]] std::size_t cooling() const { return cooling_.size(); }
    template <class Matches>
    [[nodiscard]] std::size_t cooling(Matches matches) const {
        return static_cast<std::size_t>(
            std::count_if(cooling_.begin(), cooling_.end(), [&](const auto& node) { return matches(node.first); }));
    }
    /// Nodes that have waited long enough; they cool down no more.
    [[nodiscard]] std::vector<std::string> warm(Time now) {
        std::vector<std::string> nodes;
        std::erase_if(cooling_, [&](const auto& node) {
            if (now >= node.second) nodes.push_back(node.first);
            return now >= node.second;
        });
        return nodes;
    }

    // --- newcomers: each one lets all wait for the next ---
    void wait_until(Time time) { until_ = time; }
    void taken_in() { until_ = kNever; }
    [[nodiscard]] bool is_due(Time now) const { return now >= until_; }
    [[nodiscard]] Time deadline() const { return until_; }

private:
    std::map<std::string, Time> cooling_;  ///< by node id
    Time until_ = kNever;
};

}  // namespace dlaunch::rendezvous
