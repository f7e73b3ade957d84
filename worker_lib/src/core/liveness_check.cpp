#include "worker_lib/src/core/liveness_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "worker_lib/src/core/agent_link.hpp"

namespace dlaunch::worker {
namespace {

/// Interval between checks. It grows with the number of ranks so that the load of the store does not.
constexpr std::chrono::milliseconds kIntervalPerRank{1}, kMinInterval{20};

}  // namespace

LivenessCheck::LivenessCheck(const char* op, const Group& group)
    : where_{op, 0, group.name},
      rank_(group.rank),
      ranks_(group.ranks.begin(), group.ranks.end()),
      in_job_(group.in_job.begin(), group.in_job.end()),
      names_(group.names),
      lost_(std::make_shared<std::atomic<int>>(-1)) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const bool here = group.members[i].host_id == group.members[static_cast<std::size_t>(rank_)].host_id;
        if (!here || i == static_cast<std::size_t>(rank_)) continue;
        try {
            watches_.push_back(PidWatcher::instance().watch(group.members[i].pid, [first = lost_, i] {
                int none = -1;
                first->compare_exchange_strong(none, static_cast<int>(i));
            }));
        } catch (const Error&) {
            // The process cannot be watched; the agent's loss notice and the time-out remain.
        }
    }
}

LivenessCheck::~LivenessCheck() {
    for (const PidWatcher::Id id : watches_) PidWatcher::instance().unwatch(id);
}

void LivenessCheck::check() const {
    int gone = *lost_;
    std::string details;
    for (std::size_t i = 0; gone < 0 && i < in_job_.size(); ++i) {
        if (i == static_cast<std::size_t>(rank_)) continue;
        const auto reason = AgentLink::instance().loss_reason(in_job_[i]);
        if (!reason) continue;
        gone = static_cast<int>(i);
        details = ": " + *reason;
    }
    if (gone < 0) return;
    const int rank = ranks_[static_cast<std::size_t>(gone)];
    throw failure(ErrorCode::peer_lost, where_, {rank}, fmt::format("rank {} is gone{}", names_[rank], details));
}

StoreHandle LivenessCheck::guarded(const StoreHandle& store, const std::shared_ptr<LivenessCheck>& liveness,
                                   const std::function<void()>& also) {
    return store.with_liveness_check(
        std::max<std::chrono::milliseconds>(kMinInterval, kIntervalPerRank * liveness->ranks_.size()),
        [seen = std::weak_ptr(liveness), also] {
            if (const auto alive = seen.lock()) alive->check();
            if (also) also();
        });
}

}  // namespace dlaunch::worker
