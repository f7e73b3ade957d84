#pragma once
/// Hosts of the members lost since the latest start of a round. While its guard restarts the agent, a host is expected
/// back, until a deadline. No I/O, no clock.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class LostHosts {
public:
    /// Once for each lost member.
    void lost(const std::string& host) {
        auto& losses = losses_of_[host];
        if (losses.empty() && returning_.contains(host)) ++lost_and_returning_;
        losses.push_back(++losses_);
        lost_.emplace(losses_, host);
    }
    /// The host's guard restarts the agent, which is expected back until `until`.
    void returns(const std::string& host, Time until) {
        const bool is_new = returning_.insert_or_assign(host, until).second;
        if (is_new && losses_of_.contains(host)) ++lost_and_returning_;
    }
    void joined(const std::string& host) {
        const auto losses = losses_of_.find(host);
        const bool returned = returning_.erase(host) > 0;
        if (losses == losses_of_.end()) return;
        if (returned) --lost_and_returning_;
        for (const std::uint64_t loss : losses->second) lost_.erase(loss);
        losses_of_.erase(losses);
    }
    void round_begins() {
        lost_.clear();
        losses_of_.clear();
        lost_and_returning_ = 0;
    }
    /// True: a host that was expected back has missed its deadline.
    bool give_up(Time now) {
        return std::erase_if(returning_, [&](const auto& host) {
                   const bool is_over = now >= host.second;
                   if (is_over && losses_of_.contains(host.first)) --lost_and_returning_;
                   return is_over;
               }) > 0;
    }

    /// In the order of the losses.
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        names.reserve(lost_.size());
        for (const auto& [loss, host] : lost_) names.push_back(host);
        return names;
    }
    [[nodiscard]] bool any() const { return !lost_.empty(); }
    /// Requires any().
    [[nodiscard]] const std::string& latest() const { return lost_.rbegin()->second; }
    [[nodiscard]] bool any_returns() const { return lost_and_returning_ > 0; }

private:
    std::map<std::uint64_t, std::string> lost_;                              ///< by the number of the loss
    std::unordered_map<std::string, std::vector<std::uint64_t>> losses_of_;  ///< numbers of each host's losses
    std::unordered_map<std::string, Time> returning_;
    std::uint64_t losses_ = 0;
    std::size_t lost_and_returning_ = 0;  ///< hosts
};

}  // namespace dlaunch::rendezvous
