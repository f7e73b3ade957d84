#include "worker_lib/src/hierarchy/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::worker::hierarchy {
namespace {

constexpr std::chrono::seconds kPatience{2};

/// Holds the number of the call that the rank came to last.
std::string key(int rank) { return fmt::format("came/{}", rank); }

}  // namespace

void Arrivals::come(const Call& call) {
    const Time soon = std::min(call.deadline.at(), after(kPatience));
    try {
        store_.set(key(place_.rank), std::to_string(call.sequence), soon);
    } catch (const Error&) {
        // Others may name this rank too, if there is anybody to name at all.
    }
}

Error Arrivals::name_all(const Call& call, const Error& late) const {
    std::vector<int> missing;
    try {
        const Time soon = after(kPatience);
        for (int r = 0; r < place_.size; ++r) {
            if (r == place_.rank) continue;
            const std::string last = key(r);
            // Who has passed this one may have come to another since.
            const bool came =
                store_.check(std::span(&last, 1), soon) && std::stoull(store_.get(last, soon)) >= call.sequence;
            if (!came) missing.push_back(r);
        }
    } catch (const Error&) {
        return late;
    }
    if (missing.empty()) return late;  // the last ones have come meanwhile
    return failure(ErrorCode::timeout, where(call, place_.group), missing,
                   fmt::format("rank {} waited in vain for {}", place_.rank, list_ranks(missing)));
}

}  // namespace dlaunch::worker::hierarchy
