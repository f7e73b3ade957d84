#include "rendezvous/rounds/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>

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

std::vector<std::string> missing_hosts(const std::vector<std::string>& expected, std::vector<std::string> present) {
    std::vector<std::string> missing;
    for (const std::string& host : expected) {
        auto found = std::find(present.begin(), present.end(), host);
        if (found == present.end())
            missing.push_back(host);
        else
            present.erase(found);
    }
    return missing;
}

}  // namespace dlaunch::rendezvous
