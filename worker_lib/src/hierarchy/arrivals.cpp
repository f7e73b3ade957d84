#include "worker_lib/src/hierarchy/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::worker::hierarchy {
namespace {

constexpr std::chrono::seconds kStoreTimeout{2};

/// Holds the sequence number of the last call at which the rank arrived.
std::string key(int rank) { return fmt::format("came/{}", rank); }

}  // namespace

void Arrivals::record(const Call& call) {
    const Time soon = std::min(call.deadline.at(), after(kStoreTimeout));
    try {
        store_.set(key(group_.rank), std::to_string(call.sequence), soon);
    } catch (const Error&) {
        // Peers may then report this rank as missing, but only if the barrier fails anyway.
    }
}

Error Arrivals::name_missing(const Call& call, const Error& late) const {
    std::vector<int> missing;
    try {
        const Time soon = after(kStoreTimeout);
        for (int r = 0; r < group_.size; ++r) {
            if (r == group_.rank) continue;
            const std::string last = key(r);
            // >=: the rank may have completed this call and recorded a later one.
            const bool came =
                store_.check(std::span(&last, 1), soon) && std::stoull(store_.get(last, soon)) >= call.sequence;
            if (!came) missing.push_back(r);
        }
    } catch (const Error&) {
        return late;
    }
    if (missing.empty()) return late;  // the missing ranks have arrived since the time-out
    return failure(
        ErrorCode::timeout, where(call, group_.name), missing,
        fmt::format("rank {} waited without success for {}", group_.named(group_.rank), group_.names.list(missing)));
}

}  // namespace dlaunch::worker::hierarchy
