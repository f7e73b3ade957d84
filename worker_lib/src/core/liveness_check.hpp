#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/pid_watcher.hpp"

namespace dlaunch::worker {

/// Detects the loss of a peer while a group is being made: a local peer by its process (PidWatcher), any rank of the
/// job by the agent's loss notice (AgentLink).
class LivenessCheck {
public:
    struct Group {
        std::string name;
        int rank = -1;                      ///< of this process, in the group
        std::span<const int> ranks;         ///< rank numbers to report in errors, by rank in the group
        RankNames names{};                  ///< of the ranks in `ranks`
        std::span<const int> in_job;        ///< ranks in the agent's job, by rank in the group; empty: not of a job
        std::span<const Member> members{};  ///< empty: not known yet
    };
    LivenessCheck(const char* op, const Group& group);
    ~LivenessCheck();
    LivenessCheck(const LivenessCheck&) = delete;
    LivenessCheck& operator=(const LivenessCheck&) = delete;

    /// Throws Error (peer_lost) that names the lost rank, if there is one.
    void check() const;

    /// A handle that runs check() and then `also` at intervals of a wait; check() is skipped once the LivenessCheck is
    /// gone.
    [[nodiscard]] static StoreHandle guarded(const StoreHandle& store, const std::shared_ptr<LivenessCheck>& liveness,
                                             const std::function<void()>& also = {});

private:
    const Error::Where where_;
    const int rank_;
    const std::vector<int> ranks_, in_job_;
    const RankNames names_;
    const std::shared_ptr<std::atomic<int>> lost_;  // index of the first lost member; -1: none
    std::vector<PidWatcher::Id> watches_;
};

}  // namespace dlaunch::worker
