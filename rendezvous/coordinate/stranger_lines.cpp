#include "rendezvous/coordinate/stranger_lines.hpp"

#include <fmt/format.h>

namespace dlaunch::rendezvous {
namespace {

const char* fault(store::Stranger kind) {
    switch (kind) {
        case store::Stranger::without_token: return "it has no token";
        case store::Stranger::with_token: return "it has a token, and this job has none";
        case store::Stranger::of_another_token: return "it has another token";
    }
    return "";
}

}  // namespace

std::string StrangerLines::line(base::Time now, const std::string& address, store::Stranger kind) {
    std::erase_if(latest_, [&](const auto& entry) { return now - entry.second >= kPause; });
    if (latest_.contains(address)) return {};
    const bool is_full = latest_.size() >= kMostAddresses;
    if (!latest_.emplace(is_full ? "" : address, now).second) return {};
    return fmt::format("refused a connection from {}{}: {}", address, is_full ? " and others" : "", fault(kind));
}

}  // namespace dlaunch::rendezvous
