#pragma once
/// Hosts whose members the next round lacks, and those of them whose guards start the agent again. No I/O, no clock.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

class LostHosts {
public:
    /// As often as it has lost members.
    void lost(const std::string& host) { lost_.push_back(host); }
    /// Its guard starts the agent again, which counts until then.
    void returns(const std::string& host, Time until) { returning_[host] = until; }
    void joined(const std::string& host) {
        std::erase(lost_, host);
        returning_.erase(host);
    }
    void round_begins() { lost_.clear(); }
    /// True: a host that was to come back has not.
    bool give_up(Time now) {
        return std::erase_if(returning_, [now](const auto& host) { return now >= host.second; }) > 0;
    }

    [[nodiscard]] const std::vector<std::string>& names() const { return lost_; }
    [[nodiscard]] bool any_returns() const {
        return std::any_of(lost_.begin(), lost_.end(),
                           [this](const std::string& host) { return returning_.contains(host); });
    }

private:
    std::vector<std::string> lost_;
    std::map<std::string, Time> returning_;
};

}  // namespace dlaunch::rendezvous
