#pragma once
/// The first message of every call, sent by every rank to every other rank: the call's signature and, as far as its
/// capacity permits, the sender's data for this receiver. Every receive has the full capacity, so that a frame can be
/// received before the signatures have been compared and the length is known.
///
/// Gloo sends after the receiver has posted its receive. The receives for a call are therefore posted during the
/// previous call, in two alternating sets of buffers, so that a sender finds them.

#include <cstring>

#include "worker_lib/src/mesh/mesh.hpp"

namespace dlaunch::worker::mesh {

class Frames {
public:
    explicit Frames(Mesh& mesh);

    /// The largest payload of a frame, in bytes; a power of two.
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    /// Adds data for `rank` to the next call's frame; at most capacity() bytes.
    void attach(int rank, const void* data, std::size_t bytes) {
        Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (bytes > 0) std::memcpy(peer.sent + kDataOffset, data, bytes);
        peer.attached = bytes;
    }
    /// Sends this rank's frames, receives all others and compares the signatures. Throws Error (mismatch and others).
    void exchange(const Call& call);
    /// The payload of the frame from `rank`; valid until the next call.
    [[nodiscard]] const std::byte* data(int rank) const {
        return peers_[static_cast<std::size_t>(rank)].received[parity_] + kDataOffset;
    }

private:
    static constexpr std::size_t kDataOffset = 64;  // behind the signature
    struct Peer {
        std::byte* sent = nullptr;
        std::byte* received[2] = {};
        std::size_t attached = 0;
        std::unique_ptr<Flow> sends, receives[2];
    };
    void begin_receives(int parity);
    void wait_for(int rank, const Call& call, Time began);
    void check_peers(const Call& call, Time began);
    [[nodiscard]] bool has_arrived(int rank, const Call& call, Time then);
    [[noreturn]] void fail(const Call& call, int first, Time began);

    Mesh& mesh_;
    const std::size_t capacity_;
    std::unique_ptr<std::byte[]> memory_;  // of all frames; untouched pages cost nothing
    std::vector<Peer> peers_;              // by rank; no frames for this rank
    std::vector<Signature> signatures_;
    int parity_ = 1;
};

}  // namespace dlaunch::worker::mesh
