#pragma once
/// The epoch protocol by which the ranks exchange data through the segment. A call consists of one or more epochs. In
/// each epoch every rank
///
///     begin_call(), next_epoch()         takes the half of its slot that the previous epoch did not use
///     own_data()                         writes the data for its peers into that half
///     arrive()                           increments its step counter (release), which publishes the data
///     wait_and_compare(), wait_for()     waits until the peers' counters have reached this step (acquire)
///     data_of()                          reads the peers' data
///
/// and may arrive and wait a second time with the same half. Two halves suffice: next_epoch() waits until every peer
/// has entered the previous epoch, hence has read all data of the epoch before that one: its half is reused now.
///
/// The first step of a call also publishes the call's signature, and wait_and_compare() waits for all ranks. All ranks
/// detect a mismatch at the same step and continue from there. The comparison uses a digest in the same cache line as
/// the step counter; data of up to InlinePayload::kBytes is in that line too, so that a small call moves one line per
/// rank.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "worker_lib/src/core/pid_watcher.hpp"
#include "worker_lib/src/shm/segment.hpp"

namespace dlaunch::worker::shm {

class Exchange {
public:
    /// `spins`: every rank has a processor.
    Exchange(std::shared_ptr<Segment> segment, GroupInfo group, bool spins);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Waits until all ranks have mapped the segment and watch each other's processes (`pids`, by rank). Throws Error
    /// that names the missing ranks.
    void join(const std::vector<int>& pids, const StoreHandle& store, Time deadline);

    /// Prefetches this rank's control line, which the peers' reads have left in shared state, for the write in
    /// arrive().
    void prefetch_own_line() const {
#if defined(__x86_64__)
        asm volatile("prefetchw %0" ::"m"(own_.step));  // GCC's __builtin_prefetch emits no prefetchw without -mprfchw
#else
        __builtin_prefetch(&own_.step, 1);
#endif
    }
    /// Starts the first epoch of a call. `most`: the largest data of any rank in this epoch, in bytes, if known; data
    /// that fits into InlinePayload needs no slot.
    void begin_call(const Call& call, std::size_t most = SIZE_MAX);
    void next_epoch();
    [[nodiscard]] std::byte* own_data() { return inline_ ? payload_.data.data() : segment_->half(group_.rank, half_); }
    [[nodiscard]] const std::byte* data_of(int rank) const { return payload_of(rank); }
    void arrive();
    /// After the first arrive() of a call: waits for all ranks and compares signatures. Throws Error (mismatch), or the
    /// reason of a rank that has given up this call.
    void wait_and_compare();
    /// Waits until `rank` has arrived at this rank's step.
    void wait_for(int rank) {
        if (!reached(segment_->control(rank).step.load(std::memory_order_acquire), step_)) wait(rank, step_);
    }
    void wait_all() {
        for (int r = 0; r < group_.size; ++r) wait_for(r);
    }

    [[nodiscard]] int rank() const { return group_.rank; }
    [[nodiscard]] int size() const { return group_.size; }
    [[nodiscard]] const GroupInfo& group() const { return group_; }
    [[nodiscard]] std::size_t half_bytes() const { return segment_->half_bytes(); }
    [[nodiscard]] Error::Where where() const { return worker::where(*call_, group_.name); }
    /// Scratch space for reductions: one pointer per rank.
    [[nodiscard]] std::vector<const void*>& inputs() { return inputs_; }

    /// Publishes that this rank will not arrive any more, and why. Any thread; only the first reason is kept.
    void give_up(const Error& why, std::uint32_t flag = kGaveUp);
    /// give_up() because the current call failed.
    void fail(const Error& why);
    /// give_up(), and wakes calls that wait in this process.
    void abort(const Error& why);
    /// Throws if this rank has given up; for the start of a call.
    void check_usable() const;
    /// Throws if another thread has made this rank give up; for waits inside a call.
    void check_interrupted() const;
    /// The Error for waiting on a rank that has ended.
    [[nodiscard]] Error ended_error(int rank, const Error::Where& where) const;
    [[nodiscard]] bool has_ended(int rank) const { return segment_->control(rank).ended.load() != 0; }

private:
    static bool reached(std::uint32_t seen, std::uint32_t step) {
        return static_cast<std::int32_t>((seen - step) << kFlagBits) >= 0;
    }
    [[nodiscard]] std::byte* payload_of(int rank) const {
        return inline_ ? segment_->control(rank).inline_payloads[half_ & 1].data.data() : segment_->half(rank, half_);
    }
    void wait(int rank, std::uint32_t step);
    [[noreturn]] void throw_timeout(int first, std::uint32_t step);
    void mark_dead(int rank);

    const std::shared_ptr<Segment> segment_;
    const GroupInfo group_;
    Control& own_;
    const int spins_;
    std::vector<int> pids_;
    const Call* call_ = nullptr;
    Time began_{};
    std::uint32_t step_ = kFirstStep;       // of this rank
    std::uint32_t half_ = 0;                // the lowest bit selects the half in use
    std::uint32_t entered_ = kFirstStep;    // first step of the current epoch
    std::uint32_t all_seen_ = ~kFirstStep;  // last step at which this rank saw all ranks arrive
    bool starts_epoch_ = false;             // the next arrive() is the epoch's first
    bool inline_ = false;                   // this epoch's data is in the InlinePayload, not in the slot
    InlinePayload payload_;                 // published by the epoch's first arrive()
    std::vector<const void*> inputs_;
    std::vector<Signature> signatures_;
    std::vector<PidWatcher::Id> watches_;
    mutable std::mutex mutex_;
    std::atomic<bool> given_up_{false};
    std::unique_ptr<Error> why_;
};

}  // namespace dlaunch::worker::shm
