#include "rendezvous/rounds/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "rendezvous/base/host_names.hpp"

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

std::string first_label(std::string_view host) { return base::lower_name(host.substr(0, host.find('.'))); }

}  // namespace

/// Names of one host share their first label, so each name is compared with few others.
std::vector<std::string> missing_hosts(const std::vector<std::string>& expected,
                                       const std::vector<std::string>& present) {
    std::unordered_map<std::string, std::vector<std::string_view>> by_label;
    for (const std::string& host : present) by_label[first_label(host)].push_back(host);
    std::vector<std::string> missing;
    for (const std::string& host : expected) {
        auto& candidates = by_label[first_label(host)];
        const auto found = std::find_if(candidates.begin(), candidates.end(),
                                        [&](std::string_view there) { return base::is_same_host(there, host); });
        if (found == candidates.end()) {
            missing.push_back(host);
        } else {
            *found = candidates.back();
            candidates.pop_back();
        }
    }
    return missing;
}

}  // namespace dlaunch::rendezvous
