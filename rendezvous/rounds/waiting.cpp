#include "rendezvous/rounds/waiting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "rendezvous/base/host_names.hpp"

namespace dlaunch::rendezvous {

namespace {

std::string listed(const std::vector<std::string>& names) {
    constexpr std::ptrdiff_t kShown = 8;
    const std::ptrdiff_t more = std::ssize(names) - kShown;
    if (more <= 0) return fmt::format("{}", fmt::join(names, ", "));
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kShown, ", "), more);
}

std::string first_label(std::string_view host) { return base::lower_name(host.substr(0, host.find('.'))); }

}  // namespace

std::string waiting_text(std::size_t have, std::size_t want, const std::vector<std::string>& missing) {
    const std::string count = fmt::format("{} of {} nodes", have, want);
    return missing.empty() ? count : fmt::format("{}, waiting for: {}", count, listed(missing));
}

std::string going_on_text(std::size_t nodes, const std::vector<std::string>& lost,
                          const std::vector<std::string>& added) {
    const std::string change = added.empty() ? "without" : listed(added) + " in place of";
    return fmt::format("going on with {} node{}, {} {}", nodes, nodes == 1 ? "" : "s", change, listed(lost));
}

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
