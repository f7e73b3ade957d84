#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "worker_lib/src/core/sentinel.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker {

/// Sees, while a group is made, that one of those who are waited for is gone: by its process where it is on this host,
/// by the agent's word where the launcher has started all of them.
class Lookout {
public:
    struct Group {
        std::string name;
        int rank = -1;                      ///< this process's
        std::span<const int> ranks;         ///< what errors are to call the members
        std::span<const int> in_job;        ///< what the agent calls them; empty: it knows nothing of them
        std::span<const Member> members{};  ///< empty: they are not known yet
    };
    Lookout(const char* op, const Group& group);
    ~Lookout();
    Lookout(const Lookout&) = delete;
    Lookout& operator=(const Lookout&) = delete;

    /// Throws Error (peer_lost) that names who is gone.
    void look() const;

    /// A handle whose waits look out for as long as the Lookout lives; `also` looks for something else then.
    [[nodiscard]] static StoreHandle guard(const StoreHandle& store, const std::shared_ptr<Lookout>& lookout,
                                           const std::function<void()>& also = {});

private:
    const Error::Where where_;
    const int rank_;
    const std::vector<int> ranks_, in_job_;
    const std::shared_ptr<std::atomic<int>> gone_;  // among the members; -1: nobody
    std::vector<Sentinel::Id> watches_;
};

}  // namespace dlaunch::worker
