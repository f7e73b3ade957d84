#include "rendezvous/rounds/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace dlaunch::rendezvous {

std::string waiting_text(std::size_t have, std::size_t want, const std::vector<std::string>& missing) {
    constexpr std::size_t kShown = 8;
    std::string text = fmt::format("{} of {} nodes", have, want);
    if (missing.empty()) return text;
    text += ", waiting for: ";
    for (std::size_t at = 0; at < std::min(missing.size(), kShown); ++at) text += (at ? ", " : "") + missing[at];
    if (missing.size() > kShown) text += fmt::format(" and {} more", missing.size() - kShown);
    return text;
}

namespace {

/// A scheduler may call node1 what calls itself node1.cluster.
bool is_same_host(std::string_view left, std::string_view right) {
    if (left.size() > right.size()) std::swap(left, right);
    return right.starts_with(left) && (right.size() == left.size() || right[left.size()] == '.');
}

}  // namespace

std::vector<std::string> missing_hosts(const std::vector<std::string>& expected, std::vector<std::string> present) {
    std::vector<std::string> missing;
    for (const std::string& host : expected) {
        auto found = std::find_if(present.begin(), present.end(),
                                  [&](const std::string& there) { return is_same_host(there, host); });
        if (found == present.end())
            missing.push_back(host);
        else
            present.erase(found);
    }
    return missing;
}

}  // namespace dlaunch::rendezvous
