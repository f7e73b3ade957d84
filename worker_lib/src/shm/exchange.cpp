#include "worker_lib/src/shm/exchange.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace dlaunch::worker::shm {
namespace {

/// Polls before a rank sleeps. Spinning saves 0.3 us if every rank has a core and costs 10 us otherwise; about 50
/// yields are good in both cases. Measured on 2 cores.
constexpr int kSpins = 200, kYields = 50;
/// Longest time between two checks of a sleeping rank. The first sleep is short, because arrive() has no StoreLoad
/// fence and can miss a rank that is about to sleep: a missed wake-up then costs 100 us instead of 100 ms.
constexpr auto kMaxSleep = std::chrono::milliseconds(100);
constexpr auto kFirstSleep = std::chrono::microseconds(100);
/// Interval between liveness checks while ranks join.
constexpr auto kLivenessInterval = std::chrono::milliseconds(100);

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Marks a rank as ended and wakes all ranks that wait for it.
void set_ended(Control& control, std::uint32_t flag) {
    control.ended.fetch_or(flag);
    control.step.fetch_or(flag);
    futex_wake_all(control.step);
}

}  // namespace

Exchange::Exchange(std::shared_ptr<Segment> segment, GroupInfo group, bool spins)
    : segment_(std::move(segment)),
      group_(std::move(group)),
      own_(segment_->control(group_.rank)),
      spins_(spins ? kSpins : 0),
      inputs_(static_cast<std::size_t>(group_.size)),
      signatures_(static_cast<std::size_t>(group_.size)) {}

Exchange::~Exchange() {
    for (const PidWatcher::Id id : watches_) PidWatcher::instance().unwatch(id);
    give_up({ErrorCode::aborted,
             fmt::format("rank {} has left the group", group_.named(group_.rank)),
             {group_.label(group_.rank)},
             {}},
            kLeft);
}

void Exchange::mark_dead(int rank) {
    Control& control = segment_->control(rank);
    set_ended(control, kDead);
    own_.doorbell.fetch_add(1);
    futex_wake_all(own_.doorbell);
}

void Exchange::join(const std::vector<int>& pids, const StoreHandle& store, Time deadline) {
    pids_ = pids;
    for (int r = 0; r < group_.size; ++r)
        if (r != group_.rank)
            watches_.push_back(
                PidWatcher::instance().watch(pids[static_cast<std::size_t>(r)], [this, r] { mark_dead(r); }));
    Call handshake;
    begin_call(handshake);
    arrive();
    for (;;) {
        handshake.deadline = std::min(deadline, after(kLivenessInterval));
        try {
            wait_and_compare();
            return segment_->close_file();
        } catch (const Error& error) {
            const Time now = Clock::now();
            if (error.code() != ErrorCode::timeout || now < handshake.deadline.at() || now >= deadline) throw;
        }
        try {
            store.check_liveness();
        } catch (const Error& error) {
            // A lost rank may have joined before it ended; wait_and_compare() reports it otherwise.
            if (error.code() != ErrorCode::peer_lost) throw;
        }
    }
}

void Exchange::begin_call(const Call& call, std::size_t most) {
    call_ = &call;
    began_ = {};
    next_epoch();
    inline_ = most <= InlinePayload::kBytes;
    const Signature signature(call);
    own_.calls[half_ & 1] = signature;
    payload_.call = signature.digest();
}

void Exchange::next_epoch() {
    if (all_seen_ != entered_)
        for (int r = 0; r < group_.size; ++r)
            if (!reached(segment_->control(r).step.load(std::memory_order_acquire), entered_)) wait(r, entered_);
    ++half_;
    starts_epoch_ = true;
    inline_ = false;
}

void Exchange::arrive() {
    step_ = (step_ + 1) & ~kEnded;
    if (given_up_.load(std::memory_order_relaxed)) check_interrupted();
    // Payload and step are written back to back: peers poll this line, and every poll takes it away from this core.
    if (starts_epoch_) own_.inline_payloads[half_ & 1] = payload_;
    if (starts_epoch_) entered_ = step_;
    starts_epoch_ = false;
    own_.step.store(step_, std::memory_order_release);
    // Deliberately no StoreLoad fence before this load: the fence would stall until the line is owned again, while the
    // peers' lines could already be on their way. A sleeper can be missed; kFirstSleep bounds the cost.
    if (own_.sleepers.load(std::memory_order_relaxed) != 0) futex_wake_all(own_.step);
}

void Exchange::wait_and_compare() {
    bool alike = true;
    int failed = -1;
    for (int r = 0; r < group_.size; ++r) {
        wait_for(r);
        const Control& control = segment_->control(r);
        alike = control.inline_payloads[half_ & 1].call == payload_.call && alike;
        if (control.failed.load(std::memory_order_acquire) == step_) failed = r;
    }
    all_seen_ = step_;
    if (failed >= 0) throw ended_error(failed, where());
    if (alike) return;
    for (int r = 0; r < group_.size; ++r)
        signatures_[static_cast<std::size_t>(r)] = segment_->control(r).calls[half_ & 1];
    throw mismatch(signatures_, group_);
}

void Exchange::wait(int rank, std::uint32_t step) {
    Control& control = segment_->control(rank);
    const auto there = [&] { return reached(control.step.load(std::memory_order_acquire), step); };
    for (int i = 0; i < spins_; ++i) {
        if (there()) return;
        pause();
    }
    if (began_ == Time{}) began_ = Clock::now();
    // On a busy core a yield lasts as long as the other processes' time slices, hence the deadline check.
    for (int i = 0; i < kYields && Clock::now() < call_->deadline.at(); ++i) {
        if (there()) return;
        sched_yield();
    }
    struct Sleeper {
        Word& sleepers;
        explicit Sleeper(Word& word) : sleepers(word) { sleepers.fetch_add(1); }
        ~Sleeper() { sleepers.fetch_sub(1); }
    } const sleeper(control.sleepers);
    for (std::chrono::nanoseconds most = kFirstSleep;; most = kMaxSleep) {
        const std::uint32_t seen = control.step.load();
        if (reached(seen, step)) return;
        if (given_up_.load()) check_interrupted();
        if (control.ended.load() != 0) {
            if (there()) return;  // it arrived after the first look, and then left
            throw ended_error(rank, where());
        }
        for (int r = 0; r < group_.size; ++r)  // a rank that failed this call ends the call for later arrivals, too
            if (segment_->control(r).failed.load(std::memory_order_acquire) == step) throw ended_error(r, where());
        const Time now = Clock::now();
        if (now >= call_->deadline.at()) throw_timeout(rank, step);
        futex_wait(control.step, seen, std::min<std::chrono::nanoseconds>(most, call_->deadline.at() - now));
    }
}

/// Names all missing ranks. `first` counts as missing even if it arrives at this moment.
void Exchange::throw_timeout(int first, std::uint32_t step) {
    std::vector<int> missing;
    for (int r = 0; r < group_.size; ++r)
        if (r == first || !reached(segment_->control(r).step.load(std::memory_order_acquire), step))
            missing.push_back(group_.label(r));
    throw failure(ErrorCode::timeout, where(), missing,
                  fmt::format("rank {} waited {} for {}", group_.named(group_.rank), describe(Clock::now() - began_),
                              group_.names.list(missing)));
}

Error Exchange::ended_error(int rank, const Error::Where& where) const {
    const Control& control = segment_->control(rank);
    if (!(control.ended.load() & (kGaveUp | kLeft)))
        return failure(
            ErrorCode::peer_lost, where, {group_.label(rank)},
            fmt::format("rank {} (pid {}) is gone", group_.named(rank), pids_[static_cast<std::size_t>(rank)]));
    const Reason reason = control.reason;
    const auto ranks = std::span(reason.ranks).first(static_cast<std::size_t>(reason.rank_count));
    return failure(reason.code, where, {ranks.begin(), ranks.end()},
                   fmt::format("rank {} gave up: {}", group_.named(rank), reason.text.data()));
}

void Exchange::give_up(const Error& why, std::uint32_t flag) {
    {
        const std::lock_guard lock(mutex_);
        if (given_up_) return;
        own_.reason.code = why.code();
        own_.reason.rank_count = static_cast<std::int32_t>(std::min(why.ranks().size(), own_.reason.ranks.size()));
        std::copy_n(why.ranks().begin(), own_.reason.rank_count, own_.reason.ranks.begin());
        const std::string text = why.what();
        const std::size_t size = std::min(text.size(), own_.reason.text.size() - 1);
        std::memcpy(own_.reason.text.data(), text.data(), size);
        why_ = std::make_unique<Error>(why);
        given_up_ = true;
        set_ended(own_, flag);
    }
    for (int r = 0; r < group_.size; ++r) {
        Control& control = segment_->control(r);
        control.doorbell.fetch_add(1);
        if (control.doorbell_sleepers.load() != 0) futex_wake_all(control.doorbell);
    }
}

/// Order matters: a peer that reads `failed` must already find the reason, or it would report this rank as lost.
void Exchange::fail(const Error& why) {
    give_up(why);
    own_.failed.store(step_);
}

void Exchange::abort(const Error& why) {
    give_up(why);
    for (int r = 0; r < group_.size; ++r) futex_wake_all(segment_->control(r).step);
}

void Exchange::check_usable() const {
    if (!given_up_) return;
    const std::lock_guard lock(mutex_);
    throw ended_before(*why_, group_.name);
}

void Exchange::check_interrupted() const {
    if (!given_up_) return;
    const std::lock_guard lock(mutex_);
    throw interrupted(*why_, where());
}

}  // namespace dlaunch::worker::shm
