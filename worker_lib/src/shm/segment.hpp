#pragma once
/// The shared memory of a group's ranks on one host.
///
///     page 0            a random token by which a joining rank verifies that it has opened the right file
///     controls          one per rank: step counter, signature, reason
///     slots             two halves per rank, written by their rank only, in alternation
///     rings             one per ordered pair of ranks, for messages
///
/// The segment is a memfd: it has no name, so that no file remains however the processes end. Ranks other than 0 open
/// it through /proc/PID/fd of rank 0. Pages that are never touched cost no memory.

#include <array>
#include <cstddef>
#include <memory>

#include "rendezvous/base/fd.hpp"
#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/shm/futex.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker::shm {

/// Set when a rank will not arrive any more: its process is gone, its call failed, or it has destroyed the group. The
/// flags are also set in the top bits of the step counter, which wakes ranks that sleep on that word.
inline constexpr std::uint32_t kDead = 1U << 31, kGaveUp = 1U << 30, kLeft = 1U << 29, kEnded = kDead | kGaveUp | kLeft;
inline constexpr int kFlagBits = 3;
/// Counters start shortly before they wrap around, so that every test covers the wrap.
inline constexpr std::uint32_t kFirstStep = ~kEnded - 100;

/// Why a rank gave up; written before its kGaveUp or kLeft flag is set, read after.
struct Reason {
    ErrorCode code = ErrorCode::aborted;
    std::int32_t rank_count = 0;           ///< valid entries of `ranks`; 0: no particular rank
    std::array<std::int32_t, 32> ranks{};  ///< the first of the ranks that the Error names
    std::array<char, 480> text{};
};

/// The signature's digest and, for small calls, the rank's data.
struct InlinePayload {
    static constexpr std::size_t kBytes = 16;
    std::uint64_t call = 0;  ///< digest of the signature
    alignas(8) std::array<std::byte, kBytes> data{};
};

struct alignas(128) Control {
    // The first cache line holds everything that a small call reads.
    Word step{kFirstStep};                         ///< number of arrivals of the rank
    Word sleepers{0};                              ///< number of ranks that sleep on `step`
    std::array<InlinePayload, 2> inline_payloads;  ///< by the half in use
    Word failed{kEnded};            ///< the step at which a call of the rank failed; kEnded: no call failed
    Word ended{0};                  ///< kDead, kGaveUp, kLeft; authoritative, as arrive() may overwrite those in `step`
    alignas(128) Word doorbell{0};  ///< incremented when a message has moved from or to this rank
    Word doorbell_sleepers{0};
    alignas(128) std::array<Signature, 2> calls;  ///< by the half in use; for error texts
    Reason reason;
};
static_assert(offsetof(Control, doorbell) == 128 && offsetof(Control, ended) < 64);

/// The bytes from one rank to another. Both counters only grow; their difference is the fill level.
struct Ring {
    alignas(128) std::atomic<std::uint64_t> written{0};
    alignas(128) std::atomic<std::uint64_t> read{0};
    alignas(128) std::byte bytes[1];  ///< Segment::ring_bytes() of them
};

class Segment {
public:
    /// Rank 0 creates the segment, the other ranks open it. Throws Error.
    static std::shared_ptr<Segment> create_or_join(const GroupInfo& group, const StoreHandle& store, Time deadline);
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

    /// Closes the memfd after all ranks have opened it; the mapping stays.
    void close_file() { fd_.reset(); }

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
