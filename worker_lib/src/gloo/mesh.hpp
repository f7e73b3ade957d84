#pragma once
/// Gloo's connections between the ranks of a group, and nothing else of Gloo's: its collectives end the process where
/// ranks disagree on a length, and never say which rank an error is about. So a length is only ever used after all have
/// agreed on it, and every wait is for one peer.

#include <gloo/rendezvous/context.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker::gloo_backend {

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

    /// What Gloo threw while this rank dealt with `peer`, as an Error of ours: the peer's own reason where it left one.
    [[nodiscard]] Error translate(const std::exception& thrown, int peer, const Error::Where& where, Time began) const;
    /// Closes all connections, so that nobody waits for this rank any more, and leaves the reason. The first one
    /// counts.
    void give_up(const Error& why);
    /// Throws where this rank has given up before.
    void check_going() const;
    /// Waits for what a collective sends or receives; give_up() ends the wait.
    void await(gloo::transport::UnboundBuffer& buffer, bool sends, std::chrono::milliseconds patience);

private:
    void connect(const std::vector<Member>& members, Time deadline);

    const Place place_;
    const StoreHandle store_;
    std::shared_ptr<gloo::rendezvous::Context> context_;
    mutable std::mutex mutex_;
    std::unique_ptr<Error> why_;
    gloo::transport::UnboundBuffer* awaited_ = nullptr;  // collectives come one at a time
};

/// Sends and receives that belong together: all are begun, then all are waited for. Lengths are known on both sides;
/// nothing is sent where there is nothing.
class Step {
public:
    /// `slot` is the same on all ranks, and no other step's that is under way.
    Step(Mesh& mesh, const Call& call, int number)
        : mesh_(mesh), call_(call), slot_((call.sequence << 2) + static_cast<std::uint64_t>(number)) {}
    void send(int to, const void* data, std::size_t bytes);
    void receive(int from, void* data, std::size_t bytes);
    /// Throws Error that names the peer.
    void finish();

private:
    struct Part {
        int peer;
        bool sends;
        Mesh::Buffer buffer;
    };
    Mesh& mesh_;
    const Call& call_;
    const std::uint64_t slot_;
    const Time began_ = Clock::now();
    std::vector<Part> parts_;
};

/// Slots of messages have this bit, those of collectives have not.
inline constexpr std::uint64_t kMessageSlots = std::uint64_t{1} << 63;

void run_collective(Mesh& mesh, const Call& call);

}  // namespace dlaunch::worker::gloo_backend
