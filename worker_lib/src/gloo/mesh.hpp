#pragma once
/// Gloo's connections between the ranks of a group, and nothing else of Gloo's: its collectives end the process where
/// ranks disagree on a length, and never say which rank an error is about. So a length is only ever used after all have
/// agreed on it, and every wait is for one peer.

#include <gloo/rendezvous/context.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker::gloo_backend {

/// How often a rank that waits looks whether those are still there that it needs: Gloo does not say that a connection
/// has gone to whom it has begun to send, or to receive, something for.
inline constexpr std::chrono::milliseconds kTurn{500};

/// How long one looks for what may be there already, one look after the other: a wait that its alarm ends before this
/// thread has got as far as to look does not see it.
inline constexpr std::chrono::milliseconds kLooks[] = {std::chrono::milliseconds(1), std::chrono::milliseconds(10),
                                                       std::chrono::milliseconds(100)};

/// Thrown by a wait whose connection has gone.
struct Broken final : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return "the connection was closed"; }
};

class Alarms;
class Frames;
class Submissions;

class Mesh {
public:
    /// Connects all ranks; throws Error.
    Mesh(Place place, const std::vector<Member>& members, StoreHandle store, Time deadline);
    ~Mesh();
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
    [[nodiscard]] Buffer buffer(const void* data, std::size_t bytes);

    [[nodiscard]] int rank() const { return place_.rank; }
    [[nodiscard]] int size() const { return place_.size; }
    [[nodiscard]] const std::string& group() const { return place_.group; }

    /// What Gloo threw while this rank dealt with `peer`, from `began` on, in words of ours: the peer's own reason
    /// where it left one. Of no call yet. Where this rank has given up itself: why.
    [[nodiscard]] Error blame(const std::exception& thrown, int peer, Time began) const;
    /// The same as the Error of a call.
    [[nodiscard]] Error translate(const std::exception& thrown, int peer, const Error::Where& where, Time began) const;
    /// Why `peer` gave up this call, where it has said so.
    [[nodiscard]] std::optional<Error> given_up(int peer, const Error::Where& call) const;
    /// Whether nothing will go to this rank, or come from it, any more; any thread.
    [[nodiscard]] bool is_broken(int peer);
    /// Ends what this rank waits for, and all that comes. The first reason counts.
    void interrupt(const Error& why);
    /// The same, and closes all connections, so that nobody waits for this rank any more, and leaves the reason.
    void give_up(const Error& why);
    /// Throws where this rank has given up before.
    void check_going() const;
    /// Waits for what a collective sends or receives; give_up() ends the wait. False: the wait was aborted.
    bool await(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline);
    /// The same for anybody, whom give_up() leaves alone.
    bool wait(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline);
    /// What the ranks begin their calls with.
    [[nodiscard]] Frames& frames() const { return *frames_; }
    /// Memory for a collective's own use, as it was left; made once, as new pages cost more than what is done with
    /// them.
    [[nodiscard]] std::byte* scratch(std::size_t bytes);
    [[nodiscard]] Submissions& submissions() const { return *submissions_; }

    /// Why a rank gave up, and in which call (0: in none).
    struct Reason {
        Error why;
        std::uint64_t sequence;
    };

private:
    [[nodiscard]] std::optional<Reason> reason(int peer) const;
    void connect(const std::vector<Member>& members, Time deadline, int& peer);

    const Place place_;
    const StoreHandle store_;
    std::unique_ptr<Alarms> alarms_;
    std::unique_ptr<Submissions> submissions_;
    std::shared_ptr<gloo::rendezvous::Context> context_;
    mutable std::mutex mutex_;
    std::unique_ptr<Error> why_;
    std::atomic<bool> told_{false};
    gloo::transport::UnboundBuffer* awaited_ = nullptr;  // collectives come one at a time
    std::mutex probing_;
    std::vector<Buffer> probes_;  // receives of what nobody sends; by rank, nullptr for this one
    std::unique_ptr<Frames> frames_;
    std::unique_ptr<std::byte[]> scratch_;
    std::size_t scratch_bytes_ = 0;
};

/// The ranks of a mesh that make a call together, numbered from 0.
class Part {
public:
    explicit Part(Mesh& mesh);
    /// `slots` keeps its calls apart from those of all ranks.
    Part(Mesh& mesh, std::vector<int> ranks, std::uint64_t slots);

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

/// Slots of messages have the first of these bits, those of subsets' collectives the second.
inline constexpr std::uint64_t kMessageSlots = std::uint64_t{1} << 63, kSubsetSlots = std::uint64_t{1} << 62;
/// Nobody sends anything in this one.
inline constexpr std::uint64_t kProbeSlot = kMessageSlots - 1;

/// Messages to one peer, or from one, out of one piece of memory, or into it. Those of a slot arrive in their order;
/// one may be shorter than its receiver has room for, never longer.
class Flow {
public:
    Flow(Mesh& mesh, int peer, bool sends, std::uint64_t slot, const void* data, std::size_t bytes)
        : mesh_(mesh), peer_(peer), sends_(sends), slot_(slot), buffer_(mesh.buffer(data, bytes)) {}
    ~Flow();
    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    /// Has the next one begun, at the latest with the next wait for any flow of the mesh. Nothing is sent where there
    /// is nothing.
    void begin(std::size_t offset, std::size_t bytes);
    /// Waits for the first of those that have been begun, if there is one; throws an Error that names the peer.
    void wait(const Call& call) { (void)wait(call, call.deadline.at()); }
    /// The same; false where the turn is over before the call's deadline.
    [[nodiscard]] bool wait(const Call& call, Time turn);
    void finish(const Call& call) {
        while (begun_ > 0) wait(call);
    }
    /// In Gloo's thread.
    void begin_now(std::size_t offset, std::size_t bytes) noexcept;

private:
    Mesh& mesh_;
    const int peer_;
    const bool sends_;
    const std::uint64_t slot_;
    Mesh::Buffer buffer_;
    int begun_ = 0;
    std::exception_ptr failed_;  // to begin; whoever waits is told by an aborted wait
};

/// Sends and receives that belong together: all are begun, then all are waited for. Lengths are known on both sides.
class Step {
public:
    /// `number` is the same on all ranks, from 1 on, and no other step's of the call.
    Step(const Part& part, const Call& call, int number)
        : part_(part), call_(call), slot_(part.slots() | ((call.sequence << 2) + static_cast<std::uint64_t>(number))) {}
    void send(int to, const void* data, std::size_t bytes) { flow(to, true, data, bytes).begin(0, bytes); }
    void receive(int from, void* data, std::size_t bytes) { flow(from, false, data, bytes).begin(0, bytes); }
    /// For several messages; lives as long as the step.
    Flow& flow(int peer, bool sends, const void* data, std::size_t bytes) {
        return flows_.emplace_back(part_.mesh(), part_.in_mesh(peer), sends, slot_, data, bytes);
    }
    void finish() {
        for (Flow& flow : flows_) flow.finish(call_);
    }

private:
    const Part& part_;
    const Call& call_;
    const std::uint64_t slot_;
    std::deque<Flow> flows_;
};

void run_collective(const Part& part, const Call& call);
/// Those that combine.
void run_reduction(const Part& part, const Call& call);

}  // namespace dlaunch::worker::gloo_backend
