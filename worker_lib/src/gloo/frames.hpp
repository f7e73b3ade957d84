#pragma once
/// The first message of every call, from everybody to everybody: the call's signature and, where it has room, what the
/// sender has for this receiver. A frame's receiver has room for the longest of frames, so its length need not be known
/// before the signatures have been compared.
///
/// Gloo asks the receiver before it sends. The receives of a call are begun with the call before it, so that this
/// answer is there when somebody wants to send; frames of two calls take turns.

#include <cstring>

#include "worker_lib/src/gloo/mesh.hpp"

namespace dlaunch::worker::gloo_backend {

class Frames {
public:
    explicit Frames(Mesh& mesh);

    /// The most that a frame has room for, in bytes; a power of two.
    [[nodiscard]] std::size_t room() const { return room_; }
    /// With the next call, to this rank: no more than there is room for.
    void attach(int rank, const void* data, std::size_t bytes) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (bytes > 0) std::memcpy(peer.sent + kDataOffset, data, bytes);
        peer.attached = bytes;
    }
    /// Shows everybody this rank's call, and sees all others'. Throws Error, also where they are not alike.
    void exchange(const Call& call);
    /// What this rank's frame had in it, until the next call.
    [[nodiscard]] const std::byte* data(int rank) const {
        return peers_[static_cast<std::size_t>(rank)].received[turn_] + kDataOffset;
    }

private:
    static constexpr std::size_t kDataOffset = 64;  // behind the signature
    struct Peer {
        std::byte* sent = nullptr;
        std::byte* received[2] = {};
        std::size_t attached = 0;
        std::unique_ptr<Flow> sends, receives[2];
    };
    void begin_receives(int turn);
    void wait_for(int rank, const Call& call, Time began);
    void look_around(const Call& call, Time began);
    [[nodiscard]] bool has_come(int rank, const Call& call, Time then);
    [[noreturn]] void fail(const Call& call, int first, Time began);

    Mesh& mesh_;
    const std::size_t room_;
    std::unique_ptr<std::byte[]> memory_;  // of all frames; the system gives what is used
    std::vector<Peer> peers_;              // by rank; this one's has no frames
    std::vector<Signature> signatures_;
    int turn_ = 1;
};

}  // namespace dlaunch::worker::gloo_backend
