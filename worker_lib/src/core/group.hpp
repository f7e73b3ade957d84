#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dlaunch/options.hpp>
#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/core/lane.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker {

/// What a group is made of.
struct GroupParts {
    std::string name;
    int rank = -1;                 ///< of this process; -1: not a member
    std::vector<int> ranks;        ///< in the world, by rank in the group
    std::vector<Member> members;   ///< by rank in the group
    std::string backend = "auto";  ///< as it was asked for
    std::chrono::milliseconds timeout = kDefaultTimeout;
    StoreHandle store;
    std::shared_ptr<StoreHost> host;  ///< kept as long as the group lives
};

/// What ProcessGroup is a handle of: the backend, and the order of its calls.
class Group : public std::enable_shared_from_this<Group> {
public:
    /// Meets the other members; throws Error.
    static std::shared_ptr<Group> make(GroupParts parts, Time deadline);
    ~Group();

    [[nodiscard]] const GroupParts& parts() const { return parts_; }
    [[nodiscard]] int rank() const { return parts_.rank; }
    [[nodiscard]] int size() const { return static_cast<int>(parts_.ranks.size()); }
    [[nodiscard]] bool is_member() const { return parts_.rank >= 0; }
    [[nodiscard]] std::string backend_name() const { return backend_ ? backend_->name() : parts_.backend; }
    [[nodiscard]] StoreHandle user_store() const { return parts_.store.below("user"); }

    [[nodiscard]] std::shared_ptr<Group> make_subgroup(std::span<const int> ranks, const GroupOptions& options);

    /// Both check the call first; outside the group they do nothing.
    void run(Call& call, const std::optional<std::chrono::milliseconds>& timeout);
    [[nodiscard]] Work start(Call call, const std::optional<std::chrono::milliseconds>& timeout);
    /// Without waiting.
    [[nodiscard]] std::shared_ptr<WorkState> post(Transfer transfer,
                                                  const std::optional<std::chrono::milliseconds>& timeout);
    void abort(const std::string& why);

private:
    explicit Group(GroupParts parts) : parts_(std::move(parts)) {}
    [[nodiscard]] Time deadline(const std::optional<std::chrono::milliseconds>& timeout) const;

    const GroupParts parts_;
    std::unique_ptr<Backend> backend_;
    std::uint64_t sequence_ = 0;  // of the lane's current job
    std::atomic<int> subgroups_{0};
    Lane lane_;  // goes first, as it uses the backend
};

/// Refuses what cannot be meant, before anything is sent; throws Error (invalid_argument).
void check(const Call& call, const GroupParts& group);
void check(const Transfer& transfer, const GroupParts& group);

/// By name: "shm", "gloo", "nccl", "auto". Throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline);

}  // namespace dlaunch::worker
