#pragma once
/// The memory that the ranks of a group on one host share.
///
///     page 0            the token by which a joining rank knows that it is in the right place
///     controls          one for each rank: how far it is, what it called
///     slots             two halves for each rank, written by it alone, in turns
///     rings             one for each ordered pair of ranks: the messages from one to the other
///
/// It is a memfd: it has no name, so nothing can be left behind, however the processes end. The others come to it
/// through /proc/PID/fd of rank 0. Only what is touched costs memory.

#include <array>
#include <cstddef>
#include <memory>

#include "rendezvous/base/fd.hpp"
#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/shm/futex.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker::shm {

/// A rank will never count on: its process is gone, its call failed, or it has destroyed the group. Its step count has
/// these for its top bits, so that those who sleep until it changes wake.
inline constexpr std::uint32_t kDead = 1U << 31, kGaveUp = 1U << 30, kLeft = 1U << 29, kEnded = kDead | kGaveUp | kLeft;
inline constexpr int kFlags = 3;
/// Counts begin shortly before they wrap around, so that what does not survive that does not survive a test.
inline constexpr std::uint32_t kFirstStep = ~kEnded - 100;

/// Why a rank gave up: written before its bit is set, read after.
struct Reason {
    ErrorCode code = ErrorCode::aborted;
    std::int32_t blamed = 0;               ///< how many of `ranks`; 0: nobody in particular
    std::array<std::int32_t, 32> ranks{};  ///< the first of those to blame
    std::array<char, 480> text{};
};

/// A call at a glance: what it is, and what the rank shows the others where that is little.
struct Glance {
    static constexpr std::size_t kBytes = 16;
    std::uint64_t call = 0;  ///< its signature's digest
    alignas(8) std::array<std::byte, kBytes> data{};
};

struct alignas(128) Control {
    // The first cache line holds all that a small call looks at.
    Word step{kFirstStep};          ///< steps that the rank has published
    Word sleepers{0};               ///< who must be woken when it changes
    std::array<Glance, 2> glances;  ///< by the half in use
    Word failed{kEnded};            ///< the step after which a call of the rank's failed; kEnded: none did
    Word ended{0};                  ///< one of the flags above, or some; what counts, as a step may overwrite them
    alignas(128) Word doorbell{0};  ///< rung when a message has moved from or to this rank
    Word door_sleepers{0};
    alignas(128) std::array<Signature, 2> calls;  ///< as the glances; for the words of an error
    Reason reason;
};
static_assert(offsetof(Control, doorbell) == 128 && offsetof(Control, ended) < 64);

/// A pipe from one rank to another. Both counts only grow; their difference is what lies in it.
struct Ring {
    alignas(128) std::atomic<std::uint64_t> written{0};
    alignas(128) std::atomic<std::uint64_t> read{0};
    alignas(128) std::byte bytes[1];  ///< Segment::ring_bytes() of them
};

class Segment {
public:
    /// Made by rank 0, joined by the others. Throws Error.
    static std::shared_ptr<Segment> meet(const Place& place, const StoreHandle& store, Time deadline);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    [[nodiscard]] Control& control(int rank) const { return controls_[rank]; }
    [[nodiscard]] std::byte* half(int rank, std::uint32_t which) const {
        return slots_ + (static_cast<std::size_t>(rank) * 2 + (which & 1)) * half_bytes_;
    }
    [[nodiscard]] Ring& ring(int from, int to) const {
        return *reinterpret_cast<Ring*>(rings_ + static_cast<std::size_t>(from * size_ + to) * ring_stride_);
    }
    [[nodiscard]] std::size_t half_bytes() const { return half_bytes_; }
    [[nodiscard]] std::size_t ring_bytes() const { return ring_stride_ - offsetof(Ring, bytes); }
    [[nodiscard]] int size() const { return size_; }

    /// No other rank needs to find the segment any more.
    void close_door() { fd_.reset(); }

private:
    Segment(int size, base::UniqueFd fd);
    void map();

    int size_;
    base::UniqueFd fd_;
    std::size_t half_bytes_, ring_stride_, bytes_ = 0;
    std::byte* base_ = nullptr;
    Control* controls_ = nullptr;
    std::byte *slots_ = nullptr, *rings_ = nullptr;
};

}  // namespace dlaunch::worker::shm
