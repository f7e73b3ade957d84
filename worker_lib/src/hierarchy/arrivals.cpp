#include "worker_lib/src/hierarchy/arrivals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlaunch::worker::hierarchy {
namespace {

constexpr std::chrono::seconds kPatience{2};

std::string key(std::uint64_t sequence, int rank) { return fmt::format("came/{}/{}", sequence, rank); }

}  // namespace

void Arrivals::come(const Call& call) {
    const Time soon = std::min(call.deadline.at(), after(kPatience));
    try {
        store_.set(key(call.sequence, place_.rank), "", soon);
        if (last_ > 0) store_.delete_key(key(last_, place_.rank), soon);
        last_ = call.sequence;
    } catch (const Error&) {
        // Others may name this rank too, if there is anybody to name at all.
    }
}

Error Arrivals::name_all(const Call& call, const Error& late) const {
    std::vector<int> missing;
    try {
        const Time soon = after(kPatience);
        for (int r = 0; r < place_.size; ++r) {
            const std::vector<std::string> there{key(call.sequence, r)};
            if (r != place_.rank && !store_.check(there, soon)) missing.push_back(r);
        }
    } catch (const Error&) {
        return late;
    }
    if (missing.empty()) return late;  // the last ones have come meanwhile
    return failure(ErrorCode::timeout, where(call, place_.group), missing,
                   fmt::format("rank {} waited in vain for {}", place_.rank, list_ranks(missing)));
}

}  // namespace dlaunch::worker::hierarchy
