/// What ends a group, and how.

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/nccl/nccl_backend.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// How often pending calls are looked at; the precision of time-outs.
constexpr auto kRound = std::chrono::milliseconds(10);
/// What a lost rank has sent may still arrive.
constexpr auto kLastWords = std::chrono::milliseconds(100);
/// After so long a call may be one that others did not make. For each rank more: the store is asked by all of them.
constexpr std::chrono::milliseconds kLong{1000}, kLongPerRank{1};
/// Ranks are not many calls apart, but a stream may hold many that wait for a long one.
constexpr std::uint64_t kShownAround = 32;

}  // namespace

void NcclBackend::start_watching(const std::vector<Member>& members) {
    const std::string& host = members[static_cast<std::size_t>(place_.rank)].host_id;
    for (int r = 0; r < place_.size; ++r) {
        const Member& member = members[static_cast<std::size_t>(r)];
        spans_hosts_ |= member.host_id != host;
        if (r == place_.rank || member.host_id != host) continue;
        watches_.push_back(Sentinel::instance().watch(member.pid, [this, r] {
            hear({ErrorCode::peer_lost, fmt::format("rank {} is gone", r), {r}, {"", 0, place_.group}}, true);
        }));
    }
    const base::SignalsBlocked for_the_new_thread;
    watchdog_ = std::thread([this] { watch(); });
}

void NcclBackend::hear(const Error& why, bool seen_only) {
    const std::lock_guard lock(mutex_);
    // The first counts, but what a rank says itself is better than to see it go.
    if (!heard_ || (seen_only_ && !seen_only)) {
        heard_ = why;
        seen_only_ = seen_only;
    }
    changed_.notify_all();
}

void NcclBackend::watch() {
    for (std::unique_lock lock(mutex_); !leaving_;) {
        const auto awake = [&] { return leaving_ || (heard_ && !why_); };
        if (pending_.empty() || why_)
            changed_.wait(lock, [&] { return awake() || (!pending_.empty() && !why_); });
        else
            changed_.wait_for(lock, kRound, awake);
        if (!leaving_ && !why_) look_after(lock);
    }
}

void NcclBackend::look_after(std::unique_lock<std::mutex>& lock) {
    // They end in their order.
    const auto retire = [&] {
        while (!pending_.empty() && pending_.front()->done()) pending_.pop_front();
    };
    retire();
    for (const auto began = Clock::now(); heard_ && seen_only_ && Clock::now() < began + kLastWords; retire())
        changed_.wait_for(lock, kRound / 10);
    std::optional<Error> heard = heard_;
    const Time now = Clock::now();
    const auto first_late =
        std::find_if(pending_.begin(), pending_.end(), [&](const Work& work) { return now >= work->deadline; });
    const Work late = first_late == pending_.end() ? nullptr : *first_late;
    Communicator* const communicator = communicator_.get();
    const bool seen_only = heard_ && seen_only_;
    const auto collective =
        std::find_if(pending_.begin(), pending_.end(), [](const Work& work) { return work->where.sequence > 0; });
    const bool looks =
        place_.size > 1 && collective != pending_.end() && now >= next_look_ && now >= (*collective)->began + kLong;
    const Error::Where pending = looks ? (*collective)->where : Error::Where{};
    const Alarm::Shown ours = looks ? calls_around(pending.sequence) : Alarm::Shown{};
    if (looks) next_look_ = now + kLong + place_.size * kLongPerRank;
    lock.unlock();
    if (seen_only) {
        if (const auto said = alarm_->said())
            heard = said;
        else if (spans_hosts_)
            alarm_->raise(*heard);  // ranks on other hosts do not see it
    }
    if (!heard && late) {
        heard = overdue(*late);
        alarm_->raise(*heard);
    }
    if (!heard && looks) {
        alarm_->show(ours);
        heard = alarm_->compare(pending, ours);
        if (heard) alarm_->raise(*heard);
    }
    // A time-out, or a difference, is explained by all together.
    if (heard && (heard->code() == ErrorCode::timeout || heard->code() == ErrorCode::mismatch) && heard->sequence() > 0)
        heard = alarm_->explain(*heard, called(heard->sequence()));
    if (!heard && communicator) {
        try {
            communicator->look();
        } catch (const Failure& failure) {
            heard = said_by_others();
            if (!heard) alarm_->raise(*(heard = translate(failure, {"", 0, place_.group})));
        }
    }
    if (heard) end(*heard);
    lock.lock();
}

Error NcclBackend::overdue(const StreamWork& late) const {
    const std::string waited = describe(Clock::now() - late.began);
    if (late.peer < 0)
        return failure(ErrorCode::timeout, late.where, {},
                       fmt::format("all ranks called it, and it is not done after {}", waited));
    return failure(ErrorCode::timeout, late.where, {late.peer},
                   fmt::format("rank {} waited {} for rank {}", place_.rank, waited, late.peer));
}

/// When NCCL fails, another rank may be the cause, and may be about to say so.
std::optional<Error> NcclBackend::said_by_others() {
    std::unique_lock lock(mutex_);
    const auto said = [&] { return why_ || (heard_ && !seen_only_); };
    if (!changed_.wait_for(lock, kLastWords, said)) return {};
    return why_ ? *why_ : *heard_;
}

void NcclBackend::end(const Error& why) {
    std::deque<Work> pending;
    Communicator* communicator = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (why_) return;
        why_ = std::make_unique<Error>(why);
        pending.swap(pending_);
        communicator = communicator_.get();
        changed_.notify_all();
    }
    std::erase_if(pending, [](const Work& work) { return work->done(); });
    for (const Work& work : pending) work->doom();
    // Before anybody is told, as their buffers may go then.
    if (communicator) communicator->abort();
    for (const Work& work : pending) {
        const Error::Where& where = work->where;
        const bool own = where.op == why.op() && where.sequence == why.sequence();
        work->finish(std::make_exception_ptr(own ? why : failure(why.code(), where, why.ranks(), why.what())));
    }
}

std::optional<Signature> NcclBackend::called(std::uint64_t sequence) const {
    const std::lock_guard lock(mutex_);
    for (const Signature& signature : history_)
        if (signature.sequence == sequence) return signature;
    return {};
}

Alarm::Shown NcclBackend::calls_around(std::uint64_t sequence) const {
    Alarm::Shown shown;
    for (const Signature& call : history_) {
        shown.last = call.sequence;
        if (call.sequence + kShownAround >= sequence && call.sequence <= sequence + kShownAround)
            shown.calls.push_back(call);
    }
    return shown;
}

void NcclBackend::check_going() const {
    const std::lock_guard lock(mutex_);
    if (why_) throw ended_before(*why_, place_.group);
}

Error NcclBackend::translate(const Failure& failure, const Error::Where& where) const {
    const std::string text = std::string("NCCL: ") + failure.what();
    ErrorCode code = ErrorCode::backend;
    if (failure.result() == Result::remote_error) code = ErrorCode::peer_lost;
    if (failure.result() == Result::timeout) code = ErrorCode::timeout;
    if (where.op.empty()) return {code, fmt::format("group {}: {}", place_.group, text), {}, where};
    return worker::failure(code, where, {}, text);
}

}  // namespace dlaunch::worker::nccl
