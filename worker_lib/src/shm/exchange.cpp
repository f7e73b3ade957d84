#include "worker_lib/src/shm/exchange.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "rendezvous/base/host.hpp"

namespace dlaunch::worker::shm {
namespace {

/// Before a rank sleeps it looks again this often. Pauses gain 0.3 us where every rank has a core, and cost 10 us
/// where it has not; about 50 yields are good in both cases. Measured on 2 cores.
constexpr int kPauses = 200, kYields = 50;
/// A sleeper looks around this often although nobody woke it; and once soon after it lay down, when every store that
/// did not see it there yet has long been done (publish()).
constexpr auto kLongestSleep = std::chrono::milliseconds(100);
constexpr auto kFirstSleep = std::chrono::microseconds(100);
/// Who waits for the others to join looks around this often.
constexpr auto kTurn = std::chrono::milliseconds(100);

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Whoever waits for this rank is woken.
void end(Control& control, std::uint32_t flag) {
    control.ended.fetch_or(flag);
    control.step.fetch_or(flag);
    futex_wake_all(control.step);
}

}  // namespace

Exchange::Exchange(std::shared_ptr<Segment> segment, Place place)
    : segment_(std::move(segment)),
      place_(std::move(place)),
      own_(segment_->control(place_.rank)),
      pauses_(place_.size <= base::usable_cores() ? kPauses : 0),
      inputs_(static_cast<std::size_t>(place_.size)),
      signatures_(static_cast<std::size_t>(place_.size)) {}

Exchange::~Exchange() {
    for (const Sentinel::Id id : watches_) Sentinel::instance().forget(id);
    give_up({ErrorCode::aborted,
             fmt::format("rank {} has left the group", place_.name(place_.rank)),
             {place_.name(place_.rank)},
             {}},
            kLeft);
}

void Exchange::mark_dead(int rank) {
    Control& control = segment_->control(rank);
    end(control, kDead);
    own_.doorbell.fetch_add(1);
    futex_wake_all(own_.doorbell);
}

void Exchange::meet_first(const std::vector<int>& pids, const StoreHandle& store, Time deadline) {
    pids_ = pids;
    for (int r = 0; r < place_.size; ++r)
        if (r != place_.rank)
            watches_.push_back(
                Sentinel::instance().watch(pids[static_cast<std::size_t>(r)], [this, r] { mark_dead(r); }));
    Call hello;
    begin(hello);
    publish();
    for (;;) {
        hello.deadline = std::min(deadline, after(kTurn));
        try {
            meet();
            return segment_->close_door();
        } catch (const Error& error) {
            const Time now = Clock::now();
            if (error.code() != ErrorCode::timeout || now < hello.deadline.at() || now >= deadline) throw;
        }
        try {
            store.look();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::peer_lost) throw;  // who has come may have ended since
        }
    }
}

void Exchange::begin(const Call& call, std::size_t most) {
    call_ = &call;
    began_ = {};
    turn();
    few_ = most <= Glance::kBytes;
    const Signature signature(call);
    own_.calls[half_ & 1] = signature;
    shown_.call = signature.digest();
}

void Exchange::turn() {
    if (met_ != entered_)
        for (int r = 0; r < place_.size; ++r)
            if (!reached(segment_->control(r).step.load(std::memory_order_acquire), entered_)) wait(r, entered_);
    ++half_;
    first_ = true;
    few_ = false;
}

void Exchange::publish() {
    step_ = (step_ + 1) & ~kEnded;
    if (given_up_.load(std::memory_order_relaxed)) check_told();
    // The line is written all at once: others look at it all the time, and take it from this core whenever they do.
    if (first_) own_.glances[half_ & 1] = shown_;
    if (first_) entered_ = step_;
    first_ = false;
    own_.step.store(step_, std::memory_order_release);
    // No fence before this look: it would wait until the line is here again, while the others' lines could be coming.
    if (own_.sleepers.load(std::memory_order_relaxed) != 0) futex_wake_all(own_.step);
}

void Exchange::meet() {
    bool alike = true;
    int failed = -1;
    for (int r = 0; r < place_.size; ++r) {
        wait_for(r);
        const Control& control = segment_->control(r);
        alike = control.glances[half_ & 1].call == shown_.call && alike;
        if (control.failed.load(std::memory_order_acquire) == step_) failed = r;
    }
    met_ = step_;
    if (failed >= 0) throw ended(failed, where());
    if (alike) return;
    for (int r = 0; r < place_.size; ++r)
        signatures_[static_cast<std::size_t>(r)] = segment_->control(r).calls[half_ & 1];
    throw mismatch(signatures_, place_.group);
}

void Exchange::wait(int rank, std::uint32_t step) {
    Control& control = segment_->control(rank);
    const auto there = [&] { return reached(control.step.load(std::memory_order_acquire), step); };
    for (int i = 0; i < pauses_; ++i) {
        if (there()) return;
        pause();
    }
    if (began_ == Time{}) began_ = Clock::now();
    // Where others want the processor a yield lasts as long as their turns.
    for (int i = 0; i < kYields && Clock::now() < call_->deadline.at(); ++i) {
        if (there()) return;
        sched_yield();
    }
    struct Sleeper {
        Word& sleepers;
        explicit Sleeper(Word& word) : sleepers(word) { sleepers.fetch_add(1); }
        ~Sleeper() { sleepers.fetch_sub(1); }
    } const sleeper(control.sleepers);
    for (std::chrono::nanoseconds most = kFirstSleep;; most = kLongestSleep) {
        const std::uint32_t seen = control.step.load();
        if (reached(seen, step)) return;
        if (given_up_.load()) check_told();
        if (control.ended.load() != 0) throw ended(rank, where());
        for (int r = 0; r < place_.size; ++r)  // whose call failed will not be waited for by those who come later
            if (segment_->control(r).failed.load(std::memory_order_acquire) == step) throw ended(r, where());
        const Time now = Clock::now();
        if (now >= call_->deadline.at()) late(rank, step);
        futex_wait(control.step, seen, std::min<std::chrono::nanoseconds>(most, call_->deadline.at() - now));
    }
}

/// Of the others some may come in this moment.
void Exchange::late(int first, std::uint32_t step) {
    std::vector<int> missing;
    for (int r = 0; r < place_.size; ++r)
        if (r == first || !reached(segment_->control(r).step.load(std::memory_order_acquire), step))
            missing.push_back(place_.name(r));
    throw failure(ErrorCode::timeout, where(), missing,
                  fmt::format("rank {} waited {} for {}", place_.name(place_.rank), describe(Clock::now() - began_),
                              list_ranks(missing)));
}

Error Exchange::ended(int rank, const Error::Where& where) const {
    const Control& control = segment_->control(rank);
    if (!(control.ended.load() & (kGaveUp | kLeft)))
        return failure(
            ErrorCode::peer_lost, where, {place_.name(rank)},
            fmt::format("rank {} (pid {}) is gone", place_.name(rank), pids_[static_cast<std::size_t>(rank)]));
    const Reason reason = control.reason;
    const auto blamed = std::span(reason.ranks).first(static_cast<std::size_t>(reason.blamed));
    return failure(reason.code, where, {blamed.begin(), blamed.end()},
                   fmt::format("rank {} gave up: {}", place_.name(rank), reason.text.data()));
}

void Exchange::give_up(const Error& why, std::uint32_t flag) {
    {
        const std::lock_guard lock(mutex_);
        if (given_up_) return;
        own_.reason.code = why.code();
        own_.reason.blamed = static_cast<std::int32_t>(std::min(why.ranks().size(), own_.reason.ranks.size()));
        std::copy_n(why.ranks().begin(), own_.reason.blamed, own_.reason.ranks.begin());
        const std::string text = why.what();
        const std::size_t size = std::min(text.size(), own_.reason.text.size() - 1);
        std::memcpy(own_.reason.text.data(), text.data(), size);
        why_ = std::make_unique<Error>(why);
        given_up_ = true;
        end(own_, flag);
    }
    for (int r = 0; r < place_.size; ++r) {
        Control& control = segment_->control(r);
        control.doorbell.fetch_add(1);
        if (control.door_sleepers.load() != 0) futex_wake_all(control.doorbell);
    }
}

/// Who sees that the call has failed also sees that this rank gave up, and why: else it would seem to be gone.
void Exchange::fail(const Error& why) {
    give_up(why);
    own_.failed.store(step_);
}

void Exchange::abort(const Error& why) {
    give_up(why);
    for (int r = 0; r < place_.size; ++r) futex_wake_all(segment_->control(r).step);
}

void Exchange::check_going() const {
    if (!given_up_) return;
    const std::lock_guard lock(mutex_);
    throw ended_before(*why_, place_.group);
}

void Exchange::check_told() const {
    if (!given_up_) return;
    const std::lock_guard lock(mutex_);
    throw interrupted(*why_, where());
}

}  // namespace dlaunch::worker::shm
