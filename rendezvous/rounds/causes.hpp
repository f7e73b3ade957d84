#pragma once
/// The failures of a round in the order of their reports; the first is the cause.

#include <algorithm>
#include <cstddef>
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
        if (all_.size() < kMost) all_.emplace_back(node, cause);
    }

    void clear() { all_.clear(); }
    /// The node has reported a cause, but another node's came first.
    [[nodiscard]] bool is_later(const std::string& node) const {
        return std::any_of(all_.begin(), all_.end(), [&](const auto& known) { return known.first == node; }) &&
               all_.front().first != node;
    }
    [[nodiscard]] bool empty() const { return all_.empty(); }
    [[nodiscard]] const Cause& first() const { return all_.front().second; }

    [[nodiscard]] std::vector<std::string> records() const {
        std::vector<std::string> records;
        std::size_t bytes = 0;
        for (const auto& [node, cause] : all_) {
            if (cause.record.empty() || (!records.empty() && bytes + cause.record.size() > kMostBytes)) continue;
            bytes += cause.record.size();
            records.push_back(cause.record);
        }
        return records;
    }

private:
    std::vector<std::pair<std::string, Cause>> all_;
};

}  // namespace dlaunch::rendezvous
