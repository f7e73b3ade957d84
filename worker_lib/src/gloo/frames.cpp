#include "worker_lib/src/gloo/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace dlaunch::worker::gloo_backend {
namespace {

/// A rank's frames have no more than this together in each direction, and each has room for a few numbers.
constexpr std::size_t kMostBytes = std::size_t{1} << 20, kMostRoom = std::size_t{64} << 10, kLeastRoom = 256;

/// For a look at what must have come by now.
constexpr std::chrono::milliseconds kGlance{1};

/// No step of a call has this one.
constexpr std::uint64_t kSlot = 0;

std::size_t room_among(int ranks) {
    return std::clamp(std::bit_floor(kMostBytes / static_cast<std::size_t>(ranks)), kLeastRoom, kMostRoom);
}

}  // namespace

Frames::Frames(Mesh& mesh)
    : mesh_(mesh),
      room_(room_among(mesh.size())),
      peers_(static_cast<std::size_t>(mesh.size())),
      signatures_(peers_.size()) {
    const std::size_t bytes = kDataOffset + room_;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(3 * bytes * peers_.size());
    std::byte* next = memory_.get();
    for (int r = 0; r < mesh.size(); ++r) {
        Peer& peer = peers_[static_cast<std::size_t>(r)];
        for (std::byte** frame : {&peer.sent, &peer.received[0], &peer.received[1]}) {
            *frame = next;
            next += bytes;
        }
        if (r == mesh.rank()) continue;
        peer.sends = std::make_unique<Flow>(mesh, r, true, kSlot, peer.sent, bytes);
        for (const int turn : {0, 1})
            peer.receives[turn] = std::make_unique<Flow>(mesh, r, false, kSlot, peer.received[turn], bytes);
    }
    begin_receives(0);
}

void Frames::begin_receives(int turn) {
    for (Peer& peer : peers_)
        if (peer.sends) peer.receives[turn]->begin(0, kDataOffset + room_);
}

/// Names all whose frames are missing, not only the first.
void Frames::fail(const Call& call, int first, Time began) {
    const Error::Where here = where(call, mesh_.group());
    if (const auto why = mesh_.given_up(first, here)) throw Error(*why);
    std::vector<int> missing;
    for (int r = 0; r < mesh_.size(); ++r)
        if (r == first || (r != mesh_.rank() && !has_come(r, call, after(kGlance)))) missing.push_back(r);
    throw failure(
        ErrorCode::timeout, here, missing,
        fmt::format("rank {} waited {} for {}", mesh_.rank(), describe(Clock::now() - began), list_ranks(missing)));
}

/// Whether it has by then; throws where it will not.
bool Frames::has_come(int rank, const Call& call, Time then) {
    Call patient = call;
    patient.deadline = Time::max();
    return peers_[static_cast<std::size_t>(rank)].receives[turn_]->wait(patient, then);
}

void Frames::wait_for(int rank, const Call& call, Time began) {
    while (!has_come(rank, call, std::min(call.deadline.at(), after(kTurn)))) {
        if (Clock::now() < call.deadline.at()) {
            look_around(call, began);
            continue;
        }
        // Who was stopped himself has not been told yet what has come meanwhile.
        if (has_come(rank, call, after(kGlance))) return;
        fail(call, rank, began);
    }
}

/// Whose connection is gone may have given up this call, and has said why then; or else has left after a call that went
/// well for him, and so it will here, if his frame has come.
void Frames::look_around(const Call& call, Time began) {
    const Error::Where here = where(call, mesh_.group());
    for (int r = 0; r < mesh_.size(); ++r) {
        if (r == mesh_.rank() || !mesh_.is_broken(r)) continue;
        if (const auto why = mesh_.given_up(r, here)) throw Error(*why);
        const bool came = std::any_of(std::begin(kLooks), std::end(kLooks),
                                      [&](auto look) { return has_come(r, call, after(look)); });
        if (!came) throw mesh_.translate(Broken(), r, here, began);
    }
}

void Frames::exchange(const Call& call) {
    turn_ ^= 1;
    // Before anything is sent: who has everybody's frame may leave.
    begin_receives(turn_ ^ 1);
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
        std::memcpy(&signatures_[r], peers_[r].received[turn_], sizeof own);
    }
    for (Peer& peer : peers_)
        if (peer.sends) peer.sends->wait(call);
    if (!all_alike(signatures_)) throw mismatch(signatures_, mesh_.group());
}

}  // namespace dlaunch::worker::gloo_backend
