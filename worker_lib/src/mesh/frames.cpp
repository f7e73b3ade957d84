#include "worker_lib/src/mesh/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace dlaunch::worker::mesh {
namespace {

/// Bounds on the total of a rank's frames in each direction, and on the capacity of one frame.
constexpr std::size_t kMaxTotalBytes = std::size_t{1} << 20, kMaxCapacity = std::size_t{64} << 10, kMinCapacity = 256;

/// Time-out to poll for a frame after the deadline.
constexpr std::chrono::milliseconds kPollTime{1};

/// Slot of frames; steps of calls never use it.
constexpr std::uint64_t kSlot = 0;

std::size_t capacity_among(int ranks) {
    return std::clamp(std::bit_floor(kMaxTotalBytes / static_cast<std::size_t>(ranks)), kMinCapacity, kMaxCapacity);
}

}  // namespace

Frames::Frames(Mesh& mesh)
    : mesh_(mesh),
      capacity_(capacity_among(mesh.size())),
      peers_(static_cast<std::size_t>(mesh.size())),
      signatures_(peers_.size()) {
    const std::size_t bytes = kDataOffset + capacity_;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(3 * bytes * peers_.size());
    std::byte* next = memory_.get();
    for (int r = 0; r < mesh.size(); ++r) {
        Peer& peer = peers_[static_cast<std::size_t>(r)];
        for (std::byte** frame : {&peer.sent, &peer.received[0], &peer.received[1]}) {
            *frame = next;
            next += bytes;
        }
        if (r == mesh.rank()) continue;
        peer.sends = mesh.flow(r, true, kSlot, peer.sent, bytes);
        for (const int parity : {0, 1})
            peer.receives[parity] = mesh.flow(r, false, kSlot, peer.received[parity], bytes);
    }
    begin_receives(0);
}

void Frames::begin_receives(int parity) {
    for (Peer& peer : peers_)
        if (peer.sends) peer.receives[parity]->begin(0, kDataOffset + capacity_);
}

/// Throws the reason of `first` if it gave up this call, else a time-out that names every rank with a missing frame.
void Frames::fail(const Call& call, int first, Time began) {
    const Error::Where here = where(call, mesh_.group().name);
    if (const auto why = mesh_.given_up(first, here)) throw Error(*why);
    std::vector<int> missing;
    for (int r = 0; r < mesh_.size(); ++r)
        if (r == first || (r != mesh_.rank() && !has_arrived(r, call, after(kPollTime)))) missing.push_back(r);
    throw failure(ErrorCode::timeout, here, missing,
                  fmt::format("rank {} waited {} for {}", mesh_.group().named(mesh_.rank()),
                              describe(Clock::now() - began), mesh_.group().names.list(missing)));
}

/// Waits for the frame until `then`; throws if it can no longer arrive.
bool Frames::has_arrived(int rank, const Call& call, Time then) {
    Call patient = call;
    patient.deadline = Time::max();
    return peers_[static_cast<std::size_t>(rank)].receives[parity_]->wait(patient, then);
}

void Frames::wait_for(int rank, const Call& call, Time began) {
    while (!has_arrived(rank, call, std::min(call.deadline.at(), after(kLivenessInterval)))) {
        if (Clock::now() < call.deadline.at()) {
            check_peers(call, began);
            continue;
        }
        // If this process was stopped (SIGSTOP), the frame may have arrived meanwhile without having been processed.
        if (has_arrived(rank, call, after(kPollTime))) return;
        fail(call, rank, began);
    }
}

/// Checks all peers with a closed connection. Such a peer has either given up this call and published its reason, or
/// completed the call and left; in the latter case its frame has arrived or is about to be processed.
void Frames::check_peers(const Call& call, Time began) {
    const Error::Where here = where(call, mesh_.group().name);
    for (int r = 0; r < mesh_.size(); ++r) {
        if (r == mesh_.rank() || !mesh_.is_broken(r)) continue;
        if (const auto why = mesh_.given_up(r, here)) throw Error(*why);
        const bool arrived = std::any_of(std::begin(kFinalPolls), std::end(kFinalPolls),
                                         [&](auto poll) { return has_arrived(r, call, after(poll)); });
        if (!arrived) throw mesh_.translate(Broken(), r, here, began);
    }
}

void Frames::exchange(const Call& call) {
    parity_ ^= 1;
    // Post the next call's receives before sending: a rank that has received all frames may leave at once.
    begin_receives(parity_ ^ 1);
    const Time began = Clock::now();
    const Signature own(call);
    for (Peer& peer : peers_) {
        if (!peer.sends) continue;
        std::memcpy(peer.sent, &own, sizeof own);
        peer.sends->begin(0, kDataOffset + std::exchange(peer.attached, 0));
    }
    for (std::size_t r = 0; r < peers_.size(); ++r) {
        if (!peers_[r].sends) {
            signatures_[r] = own;
            continue;
        }
        wait_for(static_cast<int>(r), call, began);
        std::memcpy(&signatures_[r], peers_[r].received[parity_], sizeof own);
    }
    for (Peer& peer : peers_)
        if (peer.sends) peer.sends->wait(call);
    if (!all_alike(signatures_)) throw mismatch(signatures_, mesh_.group());
}

}  // namespace dlaunch::worker::mesh
