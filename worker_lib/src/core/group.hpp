#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlaunch/options.hpp>
#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/core/generation.hpp"
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
    std::shared_ptr<store::ThreadedServer> host;  ///< kept as long as the group lives
    bool in_job = false;                          ///< ranks in the world are those of the agent's job
};

struct Backend::Split {
    std::span<const int> ranks;  ///< the subgroup's, by their rank in this group
    const GroupParts& parts;     ///< of the subgroup
    Time deadline;
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
    [[nodiscard]] std::vector<Work> post(std::vector<Transfer> transfers,
                                         const std::optional<std::chrono::milliseconds>& timeout);
    void abort(const std::string& why);
    /// Ranks of the world are gone, and why: what waits for them ends. Any thread.
    void lose(int first, int count, const std::string& words);

private:
    explicit Group(GroupParts parts) : parts_(std::move(parts)) {}
    static std::shared_ptr<Group> hold(GroupParts parts);
    /// The members of a subgroup, by their ranks here, see that all mean the same one; throws Error.
    void agree_on(int number, std::span<const int> ranks, const GroupParts& subgroup, Time deadline) const;
    void adopt(std::unique_ptr<Backend> backend);
    void check_support(const Call& call) const { check_support(name_of(call.op), feature_of(call), call.device); }
    void check_support(const Transfer& transfer) const {
        check_support(transfer.sends ? "send" : "recv", feature_of(transfer), transfer.device);
    }
    void check_support(const char* op, Feature feature, Device device) const {
        if (refused_[static_cast<int>(device)][static_cast<int>(feature)]) refuse(op, feature, device);
    }
    [[noreturn]] void refuse(const std::string& op, Feature feature, Device device) const;
    /// Throws in a fork of the process that made the group: it would speak in its name, or wait for ever.
    void check_process(const char* op) const {
        if (generation_ != generation()) refuse_copy(op);
    }
    [[noreturn]] void refuse_copy(const char* op) const;
    /// As the backend does; what is no Error (memory, threads) leaves the others waiting for this rank: it ends the
    /// group, and becomes one.
    template <class Where, class F>
    auto carry_out(Where&& call, F&& f) -> decltype(f());
    void run_next(Call& call);
    /// A call's turn did not come in time: ends the group; what the call is to throw.
    [[nodiscard]] Error end_late(const Error::Where& call, std::chrono::milliseconds timeout);
    [[nodiscard]] Time deadline(const std::optional<std::chrono::milliseconds>& timeout) const;

    const GroupParts parts_;
    const unsigned generation_ = generation();
    std::unique_ptr<Backend> backend_;
    bool refused_[2][kFeatures] = {};  // by device
    std::uint64_t sequence_ = 0;       // of the lane's current job
    std::atomic<int> subgroups_{0};
    Lane lane_;  // goes first, as it uses the backend
};

/// No process has more; and ranks times as much is a number.
inline constexpr std::size_t kMostElements = std::size_t{1} << 45;
[[nodiscard]] inline bool makes_sense(const ConstBuffer& buffer) {
    return buffer.count <= kMostElements && (buffer.data != nullptr || buffer.count == 0);
}
/// Why a buffer does not; empty: it does.
[[nodiscard]] std::string nonsense(const ConstBuffer& buffer);

/// Refuses what cannot be meant, before anything is sent; throws Error (invalid_argument).
void check(const Call& call, const GroupParts& group);
void check(const Transfer& transfer, const GroupParts& group);

/// By name: "shm", "gloo", "nccl", "auto". Throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline);

}  // namespace dlaunch::worker
