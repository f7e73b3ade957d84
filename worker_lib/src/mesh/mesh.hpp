#pragma once
/// Connections between all ranks of a group, over which collectives and messages go. A transport derives from Mesh and
/// Flow. All ranks agree on a length before it is used, and every wait concerns exactly one peer.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker::mesh {

/// Interval between liveness checks of a waiting rank, for transports that do not fail a transfer in progress when its
/// connection closes.
inline constexpr std::chrono::milliseconds kLivenessInterval{500};

/// Durations of successive polls for a transfer that may be complete already. A timer that fires before the thread has
/// entered Gloo's wait aborts that wait without a look at the transfer; the next, longer poll finds it.
inline constexpr std::chrono::milliseconds kFinalPolls[] = {std::chrono::milliseconds(1), std::chrono::milliseconds(10),
                                                            std::chrono::milliseconds(100)};

/// Thrown by a wait on a closed connection.
struct Broken final : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "the connection was closed"; }
};

/// Thrown by a wait at its deadline.
struct TimedOut final : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "timed out"; }
};

class Flow;
class Frames;

/// The messages to or from one peer, one after another. One thread transfers, any thread aborts.
class Lane {
public:
    Lane() = default;
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    virtual ~Lane() = default;

    /// Sends or receives `data` from byte `done` on, and counts in `done`; both sides know the number of bytes. Throws
    /// TimedOut, Broken and others.
    virtual void transfer(std::span<std::byte> data, std::size_t& done, Time deadline) = 0;
    /// Whether any thread may go on with a transfer that has timed out.
    [[nodiscard]] virtual bool resumes() const { return false; }
    /// Sends what the connection takes without waiting; the number of bytes. Not during a transfer.
    virtual std::size_t send_now(std::span<const std::byte> /*head*/, std::span<const std::byte> /*data*/) { return 0; }
    /// Ends the pending and all later transfers.
    virtual void abort() = 0;
};

class Mesh {
public:
    Mesh(GroupInfo group, StoreHandle store);
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;
    virtual ~Mesh();

    [[nodiscard]] int rank() const { return group_.rank; }
    [[nodiscard]] int size() const { return group_.size; }
    [[nodiscard]] const GroupInfo& group() const { return group_; }

    /// Transfers of a collective with `peer`, in a slot of their own.
    [[nodiscard]] virtual std::unique_ptr<Flow> flow(int peer, bool sends, std::uint64_t slot, const void* data,
                                                     std::size_t bytes) = 0;
    [[nodiscard]] virtual std::unique_ptr<Lane> lane(int peer, bool sends) = 0;
    /// True: the connection to `peer` has closed. Any thread.
    [[nodiscard]] virtual bool is_broken(int peer) = 0;
    /// As Backend's.
    [[nodiscard]] virtual void* native_handle(std::string_view) { return nullptr; }

    /// Translates an exception of a transfer with `peer` that started at `began`: this rank's reason if it has given up
    /// itself, else a time-out, else the reason that the peer has published, else a lost peer. The Error names no call.
    [[nodiscard]] Error blame(const std::exception& thrown, int peer, Time began) const;
    /// blame() as the Error of a call.
    [[nodiscard]] Error translate(const std::exception& thrown, int peer, const Error::Where& where, Time began) const;
    /// The reason that `peer` has published for giving up this call, if there is one.
    [[nodiscard]] std::optional<Error> given_up(int peer, const Error::Where& call) const;
    /// Ends the pending wait of a collective and refuses later ones. Only the first reason is kept.
    void interrupt(const Error& why);
    /// interrupt(), publishes the reason in the store and closes all connections, which ends the peers' waits.
    void give_up(const Error& why);
    /// Throws if this rank has given up.
    void check_usable() const;
    /// The first messages of every call.
    [[nodiscard]] Frames& frames() const { return *frames_; }
    /// Uninitialized memory for the current collective. Allocated once and reused: page faults on new memory cost more
    /// than the work done in it.
    [[nodiscard]] std::byte* scratch(std::size_t bytes);

    /// Why a rank gave up, and in which call (0: outside a call).
    struct Reason {
        Error why;
        std::uint64_t sequence;
    };

protected:
    /// Ends the wait of a collective, which then finds check_usable() throwing. Any thread.
    virtual void end_waits() = 0;
    /// Any thread.
    virtual void close_connections() = 0;

    /// Runs `connect`, which sets the peer that it connects to (-1: none in particular), and then the first barrier: no
    /// rank may use or leave the mesh before all have connected. Throws Error.
    void start(const std::function<void(int& peer)>& connect, Time deadline);
    /// Before a transport destroys its connections.
    void stop();
    [[nodiscard]] const StoreHandle& store() const { return store_; }

private:
    void connect_all(const std::function<void(int& peer)>& connect, Time deadline);
    [[nodiscard]] std::optional<Reason> reason(int peer) const;

    const GroupInfo group_;
    const StoreHandle store_;
    mutable std::mutex mutex_;
    std::unique_ptr<Error> why_;
    std::atomic<bool> published_{false};
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

/// A sequence of transfers to or from one peer, out of or into one buffer. Transfers in a slot arrive in order. A
/// transfer may be shorter than the receiver's capacity, never longer.
class Flow {
public:
    Flow(Mesh& mesh, int peer) : mesh_(mesh), peer_(peer) {}
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;
    virtual ~Flow() = default;

    /// Begins the next transfer; it proceeds while any flow of the mesh is waited for. Zero bytes: no transfer.
    void begin(std::size_t offset, std::size_t bytes) {
        if (bytes == 0) return;
        add(offset, bytes);
        ++begun_;
    }
    /// Waits for the oldest transfer that has begun, if there is one; throws an Error that names the peer.
    void wait(const Call& call) { (void)wait(call, call.deadline.at()); }
    /// The same until `until`; false: the transfer is pending at that time, before the call's deadline.
    [[nodiscard]] bool wait(const Call& call, Time until);
    void finish(const Call& call) {
        while (begun_ > 0) wait(call);
    }

protected:
    virtual void add(std::size_t offset, std::size_t bytes) = 0;
    /// Waits for the oldest transfer; throws TimedOut, Broken and others.
    virtual void await(Time until) = 0;
    [[nodiscard]] int peer() const { return peer_; }
    [[nodiscard]] int begun() const { return begun_; }

private:
    Mesh& mesh_;
    const int peer_;
    int begun_ = 0;
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
        return *flows_.emplace_back(subset_.mesh().flow(subset_.in_mesh(peer), sends, slot_, data, bytes));
    }
    void finish() {
        for (const auto& flow : flows_) flow->finish(call_);
    }

private:
    const RankSubset& subset_;
    const Call& call_;
    const std::uint64_t slot_;
    std::vector<std::unique_ptr<Flow>> flows_;
};

void run_collective(const RankSubset& subset, const Call& call);
/// reduce, all_reduce, reduce_scatter.
void run_reduction(const RankSubset& subset, const Call& call);
void run_scan(const RankSubset& subset, const Call& call);

}  // namespace dlaunch::worker::mesh
