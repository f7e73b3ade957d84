#pragma once
/// Connections between the ranks of a group. Gloo provides the connections and point-to-point transfers only; Gloo's
/// collectives are not used, because they abort the process when ranks disagree on a length and report errors without
/// the rank. Hence all ranks agree on a length before it is used, and every wait concerns exactly one peer.

#include <gloo/rendezvous/context.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker::gloo_backend {

/// Interval between liveness checks of a waiting rank. Gloo does not fail a transfer in progress when its connection
/// closes.
inline constexpr std::chrono::milliseconds kLivenessInterval{500};

/// Durations of successive polls for a transfer that may be complete already. A timer that fires before the thread has
/// entered Gloo's wait aborts that wait without a look at the transfer; the next, longer poll finds it.
inline constexpr std::chrono::milliseconds kFinalPolls[] = {std::chrono::milliseconds(1), std::chrono::milliseconds(10),
                                                            std::chrono::milliseconds(100)};

/// Thrown by a wait on a closed connection.
struct Broken final : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "the connection was closed"; }
};

class WaitTimers;
class Frames;
class SubmissionQueue;

class Mesh {
public:
    /// Connects all ranks; throws Error.
    Mesh(GroupInfo group, const std::vector<Member>& members, StoreHandle store, Time deadline);
    ~Mesh();
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
    [[nodiscard]] Buffer buffer(const void* data, std::size_t bytes);

    [[nodiscard]] int rank() const { return group_.rank; }
    [[nodiscard]] int size() const { return group_.size; }
    [[nodiscard]] const GroupInfo& group() const { return group_; }

    /// Translates an exception of Gloo during a transfer with `peer` that started at `began`: this rank's reason if it
    /// has given up itself, else a time-out, else the reason that the peer has published, else a lost peer. The Error
    /// names no call.
    [[nodiscard]] Error blame(const std::exception& thrown, int peer, Time began) const;
    /// blame() as the Error of a call.
    [[nodiscard]] Error translate(const std::exception& thrown, int peer, const Error::Where& where, Time began) const;
    /// The reason that `peer` has published for giving up this call, if there is one.
    [[nodiscard]] std::optional<Error> given_up(int peer, const Error::Where& call) const;
    /// True: the connection to `peer` has closed. Any thread.
    [[nodiscard]] bool is_broken(int peer);
    /// Ends the pending wait of a collective and refuses later ones. Only the first reason is kept.
    void interrupt(const Error& why);
    /// interrupt(), publishes the reason in the store and closes all connections, which ends the peers' waits.
    void give_up(const Error& why);
    /// Throws if this rank has given up.
    void check_usable() const;
    /// Waits for a transfer of a collective; interrupt() ends the wait. False: the wait was aborted.
    bool await(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline);
    /// The same for messages; interrupt() does not end this wait.
    bool wait(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline);
    /// For Gloo's own collectives, whose slots are none of ours.
    [[nodiscard]] gloo::Context* context() const { return context_.get(); }
    /// The first messages of every call.
    [[nodiscard]] Frames& frames() const { return *frames_; }
    /// Uninitialized memory for the current collective. Allocated once and reused: page faults on new memory cost more
    /// than the work done in it.
    [[nodiscard]] std::byte* scratch(std::size_t bytes);
    [[nodiscard]] SubmissionQueue& submission_queue() const { return *submission_queue_; }

    /// Why a rank gave up, and in which call (0: outside a call).
    struct Reason {
        Error why;
        std::uint64_t sequence;
    };

private:
    [[nodiscard]] std::optional<Reason> reason(int peer) const;
    void connect(const std::vector<Member>& members, Time deadline, int& peer);

    const GroupInfo group_;
    const StoreHandle store_;
    std::unique_ptr<WaitTimers> timers_;
    std::unique_ptr<SubmissionQueue> submission_queue_;
    std::shared_ptr<gloo::rendezvous::Context> context_;
    mutable std::mutex mutex_;
    std::unique_ptr<Error> why_;
    std::atomic<bool> published_{false};
    gloo::transport::UnboundBuffer* awaited_ = nullptr;  // at most one: collectives do not overlap
    std::mutex probing_;
    std::vector<Buffer> probes_;  // receives in kProbeSlot, which fail when the connection closes; by rank
    std::unique_ptr<Frames> frames_;
    std::unique_ptr<std::byte[]> scratch_;
    std::size_t scratch_bytes_ = 0;
};

/// Some ranks of a mesh that make calls together, numbered from 0.
class RankSubset {
public:
    explicit RankSubset(Mesh& mesh);
    /// `slots`: bits that separate the slots of the subset's calls from those of the whole mesh.
    RankSubset(Mesh& mesh, std::vector<int> ranks, std::uint64_t slots);

    [[nodiscard]] Mesh& mesh() const { return mesh_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
    [[nodiscard]] int in_mesh(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::uint64_t slots() const { return slots_; }

private:
    Mesh& mesh_;
    int rank_;
    std::uint64_t slots_ = 0;
    std::vector<int> ranks_;
};

/// Set in the slots of messages; set in the slots of subsets' collectives.
inline constexpr std::uint64_t kMessageSlots = std::uint64_t{1} << 63, kSubsetSlots = std::uint64_t{1} << 62;
/// No rank ever sends in this slot.
inline constexpr std::uint64_t kProbeSlot = kMessageSlots - 1;

/// A sequence of transfers to or from one peer, out of or into one buffer. Transfers in a slot arrive in order. A
/// transfer may be shorter than the receiver's capacity, never longer.
class Flow {
public:
    Flow(Mesh& mesh, int peer, bool sends, std::uint64_t slot, const void* data, std::size_t bytes)
        : mesh_(mesh), peer_(peer), sends_(sends), slot_(slot), buffer_(mesh.buffer(data, bytes)) {}
    ~Flow();
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    /// Queues the next transfer; the next wait for any flow of the mesh submits the queue. Zero bytes: no transfer.
    void begin(std::size_t offset, std::size_t bytes);
    /// Waits for the oldest transfer that has begun, if there is one; throws an Error that names the peer.
    void wait(const Call& call) { (void)wait(call, call.deadline.at()); }
    /// The same until `until`; false: the transfer is pending at that time, before the call's deadline.
    [[nodiscard]] bool wait(const Call& call, Time until);
    void finish(const Call& call) {
        while (begun_ > 0) wait(call);
    }
    /// Starts a transfer; runs in Gloo's thread.
    void begin_now(std::size_t offset, std::size_t bytes) noexcept;

private:
    Mesh& mesh_;
    const int peer_;
    const bool sends_;
    const std::uint64_t slot_;
    Mesh::Buffer buffer_;
    int begun_ = 0;
    std::exception_ptr failed_;  // a transfer could not start; an aborted wait signals it to the waiting thread
};

/// A set of transfers that proceed concurrently: begin all, then wait for all. Both sides know the lengths.
class Step {
public:
    /// `number`: 1, 2, ..., unique within the call and equal on all ranks.
    Step(const RankSubset& subset, const Call& call, int number)
        : subset_(subset),
          call_(call),
          slot_(subset.slots() | ((call.sequence << 2) + static_cast<std::uint64_t>(number))) {}
    void send(int to, const void* data, std::size_t bytes) { flow(to, true, data, bytes).begin(0, bytes); }
    void receive(int from, void* data, std::size_t bytes) { flow(from, false, data, bytes).begin(0, bytes); }
    /// For several transfers with one peer; lives as long as the step.
    Flow& flow(int peer, bool sends, const void* data, std::size_t bytes) {
        return flows_.emplace_back(subset_.mesh(), subset_.in_mesh(peer), sends, slot_, data, bytes);
    }
    void finish() {
        for (Flow& flow : flows_) flow.finish(call_);
    }

private:
    const RankSubset& subset_;
    const Call& call_;
    const std::uint64_t slot_;
    std::deque<Flow> flows_;
};

void run_collective(const RankSubset& subset, const Call& call);
/// reduce, all_reduce, reduce_scatter.
void run_reduction(const RankSubset& subset, const Call& call);
void run_scan(const RankSubset& subset, const Call& call);

}  // namespace dlaunch::worker::gloo_backend
