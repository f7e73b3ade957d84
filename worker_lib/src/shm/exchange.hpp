#pragma once
/// How the ranks keep step. A call consists of exchanges. In each of them every rank
///
///     begin() or turn()    takes the half of its slot that its last exchange did not use
///     mine()               writes what the others need into it
///     publish()            counts its step on, which shows them what it wrote
///     meet(), wait_for()   waits until the others have counted as far, and then reads theirs: of()
///
/// and may publish() and wait again for a second step with the same half. Two halves are enough: who starts an exchange
/// knows that everybody has begun the one before it, and so has read all there was in the one before that.
///
/// The first step of a call shows its signature too, and meet() waits for all ranks: they all find out that their calls
/// differ, at the same step, and all go on from there. What is compared is a digest, which shares a cache line with the
/// step and, where it is little, with what the rank shows: such a call moves one line per rank.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "worker_lib/src/core/sentinel.hpp"
#include "worker_lib/src/shm/segment.hpp"

namespace dlaunch::worker::shm {

class Exchange {
public:
    Exchange(std::shared_ptr<Segment> segment, Place place);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// All have mapped the segment and watch each other (`pids`, by rank); throws Error that names who is missing.
    void meet_first(const std::vector<int>& pids, const StoreHandle& store, Time deadline);

    /// A call is about to begin: this rank's line, which others have looked at, may come back meanwhile.
    void expect_call() const {
#if defined(__x86_64__)
        asm volatile("prefetchw %0" ::"m"(own_.step));  // what the compiler makes of its own prefetch does not own it
#else
        __builtin_prefetch(&own_.step, 1);
#endif
    }
    /// `most`: bytes that any rank shows in this exchange, where that is known; a few need no slot.
    void begin(const Call& call, std::size_t most = SIZE_MAX);
    void turn();
    [[nodiscard]] std::byte* mine() { return few_ ? shown_.data.data() : segment_->half(place_.rank, half_); }
    [[nodiscard]] const std::byte* of(int rank) const { return shown_by(rank); }
    void publish();
    /// After the first publish() of a call: waits for all and compares what they called. Throws, too, where a rank has
    /// given up this call already.
    void meet();
    /// Until `rank` has published as many steps as this one.
    void wait_for(int rank) {
        if (!reached(segment_->control(rank).step.load(std::memory_order_acquire), step_)) wait(rank, step_);
    }
    void wait_all() {
        for (int r = 0; r < place_.size; ++r) wait_for(r);
    }

    [[nodiscard]] int rank() const { return place_.rank; }
    [[nodiscard]] int size() const { return place_.size; }
    [[nodiscard]] std::size_t half_bytes() const { return segment_->half_bytes(); }
    [[nodiscard]] Error::Where where() const { return worker::where(*call_, place_.group); }
    /// Room for one pointer per rank, for reductions.
    [[nodiscard]] std::vector<const void*>& inputs() { return inputs_; }

    /// Tells the others not to wait for this rank any more. Any thread; the first reason counts.
    void give_up(const Error& why, std::uint32_t flag = kGaveUp);
    /// give_up() of the call that is under way.
    void fail(const Error& why);
    /// give_up(), and calls that wait in this process end, too.
    void abort(const Error& why);
    /// Throws where this rank has given up before.
    void check_going() const;
    /// Throws, inside a call, where this rank has been told to give up.
    void check_told() const;
    /// Why nobody needs to wait for a rank that has ended.
    [[nodiscard]] Error ended(int rank, const Error::Where& where) const;
    [[nodiscard]] bool has_ended(int rank) const { return segment_->control(rank).ended.load() != 0; }

private:
    static bool reached(std::uint32_t seen, std::uint32_t step) {
        return static_cast<std::int32_t>((seen - step) << kFlags) >= 0;
    }
    [[nodiscard]] std::byte* shown_by(int rank) const {
        return few_ ? segment_->control(rank).glances[half_ & 1].data.data() : segment_->half(rank, half_);
    }
    void wait(int rank, std::uint32_t step);
    [[noreturn]] void late(int first, std::uint32_t step);
    void mark_dead(int rank);

    const std::shared_ptr<Segment> segment_;
    const Place place_;
    Control& own_;
    const int pauses_;
    std::vector<int> pids_;
    const Call* call_ = nullptr;
    Time began_{};
    std::uint32_t step_ = kFirstStep;     // this rank's
    std::uint32_t half_ = 0;              // in use: its last bit
    std::uint32_t entered_ = kFirstStep;  // the step that began the exchange before
    std::uint32_t met_ = ~kFirstStep;     // the step at which this rank last saw all others
    bool first_ = false;                  // nothing has been published since begin() or turn()
    bool few_ = false;                    // the glance is the slot
    Glance shown_;                        // what it will be
    std::vector<const void*> inputs_;
    std::vector<Signature> signatures_;
    std::vector<Sentinel::Id> watches_;
    mutable std::mutex mutex_;
    std::atomic<bool> given_up_{false};
    std::unique_ptr<Error> why_;
};

}  // namespace dlaunch::worker::shm
