#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlaunch/options.hpp>
#include <dlaunch/process_group.hpp>
#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/core/executor.hpp"
#include "worker_lib/src/core/generation.hpp"

namespace dlaunch::worker {

/// The constituents of a group.
struct GroupParts {
    std::string name;
    int rank = -1;                 ///< of this process; -1: not a member
    int world_rank = -1;           ///< of this process, member or not
    std::vector<int> ranks;        ///< ranks in the world, by rank in the group
    std::vector<Member> members;   ///< by rank in the group
    std::string backend = "auto";  ///< as requested
    std::chrono::milliseconds timeout = kDefaultTimeout;
    StoreHandle store;
    std::shared_ptr<store::ThreadedServer>
        host;             ///< the store's server if this rank runs it; lives as long as the group
    bool in_job = false;  ///< ranks in the world equal the ranks of the agent's job
    NcclOptions nccl{};

    [[nodiscard]] RankNames names() const {
        std::vector<int> named;
        for (const Member& member : members) named.push_back(member.named);
        return RankNames(std::move(named));
    }
    [[nodiscard]] GroupInfo info() const { return {name, rank, static_cast<int>(ranks.size()), names()}; }
};

struct Backend::Split {
    std::span<const int> ranks;  ///< the subgroup's members, as ranks of this group
    const GroupParts& parts;     ///< of the subgroup
    int number;                  ///< of the call of new_group() or split(), equal on all ranks of this group
    Time deadline;
};

/// The state behind ProcessGroup handles: the backend and the order of its calls.
class Group : public std::enable_shared_from_this<Group> {
public:
    /// Connects to the other members; throws Error.
    static std::shared_ptr<Group> make(GroupParts parts, Time deadline);
    ~Group();

    [[nodiscard]] const GroupParts& parts() const { return parts_; }
    [[nodiscard]] int rank() const { return parts_.rank; }
    [[nodiscard]] int size() const { return static_cast<int>(parts_.ranks.size()); }
    [[nodiscard]] bool is_member() const { return parts_.rank >= 0; }
    [[nodiscard]] std::string backend_name() const { return backend_ ? backend_->name() : parts_.backend; }
    [[nodiscard]] StoreHandle user_store() const { return parts_.store.below("user"); }

    [[nodiscard]] void* native_handle(std::string_view backend) const;

    [[nodiscard]] std::shared_ptr<Group> make_subgroup(std::span<const int> ranks, const GroupOptions& options);
    [[nodiscard]] std::shared_ptr<Group> split(int color, int key, const GroupOptions& options);

    /// For a call of the program on a rank outside the group: throws Error (invalid_argument).
    [[noreturn]] void refuse_outsider(const char* function) const;

    /// run() and start() validate the call first.
    void run(Call& call, const std::optional<std::chrono::milliseconds>& timeout);
    [[nodiscard]] Work start(Call call, const std::optional<std::chrono::milliseconds>& timeout);
    /// Starts messages without waiting.
    [[nodiscard]] std::shared_ptr<WorkState> post(Transfer transfer,
                                                  const std::optional<std::chrono::milliseconds>& timeout);
    [[nodiscard]] std::vector<Work> post(std::vector<Transfer> transfers,
                                         const std::optional<std::chrono::milliseconds>& timeout);
    void abort(const std::string& why);
    /// The ranks [first, first + count) of the world are lost: fails the group if it has one of them. Any thread.
    void fail_lost(int first, int count, const std::string& reason);

private:
    explicit Group(GroupParts parts) : parts_(std::move(parts)) {}
    static std::shared_ptr<Group> hold(GroupParts parts);
    /// `label`: of the subgroup, in its keys and its name; unique in this group.
    [[nodiscard]] std::shared_ptr<Group> make_subgroup(std::span<const int> ranks, const GroupOptions& options,
                                                       int number, const std::string& label, Time deadline);
    /// Compares the arguments of new_group() among the subgroup's members; throws Error (mismatch). `ranks` are ranks
    /// of this group.
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
    /// Throws in a fork of the process that made the group: the copy would act as the same rank, or wait forever.
    void check_process(const char* op) const {
        if (generation_ != generation()) refuse_copy(op);
    }
    [[noreturn]] void refuse_copy(const char* op) const;
    /// Runs `f`. An exception other than Error (out of memory, no thread) would leave the other ranks waiting for this
    /// one; therefore carry_out() ends the group and throws the exception as an Error.
    template <class Where, class F>
    auto carry_out(Where&& call, F&& f) -> decltype(f());
    void run_next(Call& call);
    void run_one(Call& call);
    /// A call's turn did not come in time: ends the group and returns the call's Error.
    [[nodiscard]] Error end_late(const Error::Where& call, std::chrono::milliseconds timeout);
    [[nodiscard]] Time deadline(const std::optional<std::chrono::milliseconds>& timeout) const;

    const GroupParts parts_;
    const unsigned generation_ = generation();
    std::unique_ptr<Backend> backend_;
    bool refused_[2][kFeatures] = {};  // by device
    std::uint64_t sequence_ = 0;       // number of the last collective; guarded by the executor's order
    std::atomic<int> subgroups_{0};
    Executor executor_;  // destroyed first, because its jobs use the backend
};

/// More than any address space holds; the product with a number of ranks does not overflow.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 48;
[[nodiscard]] inline bool is_too_long(const ConstBuffer& buffer) {
    std::size_t bytes = 0;
    return __builtin_mul_overflow(buffer.count, size_of(buffer.type), &bytes) || bytes > kMaxBytes;
}
[[nodiscard]] inline bool is_valid(const ConstBuffer& buffer) {
    return !is_too_long(buffer) && (buffer.data != nullptr || buffer.count == 0);
}
/// Why a buffer is invalid; empty: it is valid.
[[nodiscard]] std::string why_invalid(const ConstBuffer& buffer);

/// Validates arguments before anything is sent; throws Error (invalid_argument).
void check(const Call& call, const GroupParts& group);
void check(const Transfer& transfer, const GroupParts& group);

/// The backend named by parts.backend: "shm", "tcp", "gloo", "nccl", "auto". Throws Error.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const GroupParts& parts, Time deadline);

}  // namespace dlaunch::worker
