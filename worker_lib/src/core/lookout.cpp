#include "worker_lib/src/core/lookout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "worker_lib/src/core/agent_link.hpp"

namespace dlaunch::worker {
namespace {

/// How long a wait goes on before somebody looks, for each rank: so the store of a large world is not asked more often.
constexpr std::chrono::milliseconds kTurnPerRank{1}, kLeastTurn{20};

}  // namespace

Lookout::Lookout(const char* op, const Group& group)
    : where_{op, 0, group.name},
      rank_(group.rank),
      ranks_(group.ranks.begin(), group.ranks.end()),
      in_job_(group.in_job.begin(), group.in_job.end()),
      gone_(std::make_shared<std::atomic<int>>(-1)) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const bool here = group.members[i].host_id == group.members[static_cast<std::size_t>(rank_)].host_id;
        if (!here || i == static_cast<std::size_t>(rank_)) continue;
        try {
            watches_.push_back(
                Sentinel::instance().watch(group.members[i].pid, [gone = gone_, i] { *gone = static_cast<int>(i); }));
        } catch (const Error&) {
            // The agent's word and the time-out are left.
        }
    }
}

Lookout::~Lookout() {
    for (const Sentinel::Id id : watches_) Sentinel::instance().forget(id);
}

void Lookout::look() const {
    int gone = *gone_;
    std::string words;
    for (std::size_t i = 0; gone < 0 && i < in_job_.size(); ++i) {
        if (i == static_cast<std::size_t>(rank_)) continue;
        const auto said = AgentLink::instance().why_lost(in_job_[i]);
        if (!said) continue;
        gone = static_cast<int>(i);
        words = ": " + *said;
    }
    if (gone < 0) return;
    const int rank = ranks_[static_cast<std::size_t>(gone)];
    throw failure(ErrorCode::peer_lost, where_, {rank}, fmt::format("rank {} is gone{}", rank, words));
}

StoreHandle Lookout::guard(const StoreHandle& store, const std::shared_ptr<Lookout>& lookout,
                           const std::function<void()>& also) {
    return store.watched(std::max<std::chrono::milliseconds>(kLeastTurn, kTurnPerRank * lookout->ranks_.size()),
                         [seen = std::weak_ptr(lookout), also] {
                             if (const auto alive = seen.lock()) alive->look();
                             if (also) also();
                         });
}

}  // namespace dlaunch::worker
