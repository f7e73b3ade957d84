/// The watchdog thread: detects failures and ends the group.

#include <fmt/format.h>

#include <algorithm>

#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/nccl/nccl_backend.hpp"

namespace dlaunch::worker::nccl {
namespace {

/// Interval between checks of pending calls; the precision of time-outs.
constexpr auto kPollInterval = std::chrono::milliseconds(10);
/// Time for the failure notice of a lost rank or of a peer to arrive.
constexpr auto kNoticeGrace = std::chrono::milliseconds(100);
/// Calls are compared across ranks after this time, then at intervals that grow with the number of ranks, because all
/// ranks load the same store.
constexpr std::chrono::milliseconds kCompareAfter{1000}, kComparePerRank{1};
/// Number of signatures before and after the pending call to publish: ranks are at most a few calls apart, but a stream
/// may hold many calls behind a slow one.
constexpr std::uint64_t kRecordedAround = 32;

}  // namespace

void NcclBackend::start_watching(const std::vector<Member>& members) {
    const std::string& host = members[static_cast<std::size_t>(group_.rank)].host_id;
    for (int r = 0; r < group_.size; ++r) {
        const Member& member = members[static_cast<std::size_t>(r)];
        spans_hosts_ |= member.host_id != host;
        if (r == group_.rank || member.host_id != host) continue;
        watches_.push_back(PidWatcher::instance().watch(member.pid, [this, r] {
            report_failure(
                {ErrorCode::peer_lost, fmt::format("rank {} is gone", group_.named(r)), {r}, {"", 0, group_.name}},
                true);
        }));
    }
    const base::SignalsBlocked for_the_new_thread;
    watchdog_ = std::thread([this] { watch(); });
}

void NcclBackend::report_failure(const Error& why, bool inferred) {
    const std::lock_guard lock(mutex_);
    // The first report is kept, but a rank's own notice replaces an inferred loss of that rank.
    if (!reported_ || (inferred_ && !inferred)) {
        reported_ = why;
        inferred_ = inferred;
    }
    changed_.notify_all();
}

void NcclBackend::watch() {
    for (std::unique_lock lock(mutex_); !leaving_;) {
        const auto awake = [&] { return leaving_ || (reported_ && !why_); };
        if (pending_.empty() || why_)
            changed_.wait(lock, [&] { return awake() || (!pending_.empty() && !why_); });
        else
            changed_.wait_for(lock, kPollInterval, awake);
        if (!leaving_ && !why_) poll_pending(lock);
    }
}

void NcclBackend::poll_pending(std::unique_lock<std::mutex>& lock) {
    // Calls of a stream complete in order.
    const auto retire = [&] {
        while (!pending_.empty() && pending_.front()->done()) pending_.pop_front();
    };
    retire();
    for (const auto began = Clock::now(); reported_ && inferred_ && Clock::now() < began + kNoticeGrace; retire())
        changed_.wait_for(lock, kPollInterval / 10);
    std::optional<Error> found = reported_;
    const Time now = Clock::now();
    const auto first_late =
        std::find_if(pending_.begin(), pending_.end(), [&](const Work& work) { return now >= work->deadline; });
    const Work late = first_late == pending_.end() ? nullptr : *first_late;
    Communicator* const communicator = communicator_.get();
    const bool inferred = reported_ && inferred_;
    const auto collective =
        std::find_if(pending_.begin(), pending_.end(), [](const Work& work) { return work->where.sequence > 0; });
    const bool compares = group_.size > 1 && collective != pending_.end() && now >= next_compare_ &&
                          now >= (*collective)->began + kCompareAfter;
    const Error::Where pending = compares ? (*collective)->where : Error::Where{};
    const FailureNotice::CallRecord ours = compares ? calls_around(pending.sequence) : FailureNotice::CallRecord{};
    if (compares) next_compare_ = now + kCompareAfter + group_.size * kComparePerRank;
    lock.unlock();
    if (inferred) {
        if (const auto notice = notice_->received())
            found = notice;
        else if (spans_hosts_)
            notice_->publish(*found);  // other hosts cannot observe the process
    }
    if (!found && late) {
        found = overdue(*late);
        notice_->publish(*found);
    }
    if (!found && compares) {
        notice_->publish_calls(ours);
        found = notice_->compare_calls(pending, ours);
        if (found) notice_->publish(*found);
    }
    // All ranks diagnose a time-out or mismatch together.
    if (found && (found->code() == ErrorCode::timeout || found->code() == ErrorCode::mismatch) && found->sequence() > 0)
        found = notice_->diagnose(*found, called(found->sequence()));
    if (!found && communicator) {
        try {
            communicator->look();
        } catch (const Failure& failure) {
            found = peer_notice();
            if (!found) notice_->publish(*(found = translate(failure, {"", 0, group_.name})));
        }
    }
    if (found) end(*found);
    lock.lock();
}

Error NcclBackend::overdue(const StreamWork& late) const {
    const std::string waited = describe(Clock::now() - late.began);
    if (late.peer < 0)
        return failure(ErrorCode::timeout, late.where, {},
                       fmt::format("all ranks called it, and it is not done after {}", waited));
    return failure(
        ErrorCode::timeout, late.where, {late.peer},
        fmt::format("rank {} waited {} for rank {}", group_.named(group_.rank), waited, group_.named(late.peer)));
}

/// Waits for a notice after a failure of NCCL: another rank may be the cause, and its notice may be on the way.
std::optional<Error> NcclBackend::peer_notice() {
    std::unique_lock lock(mutex_);
    const auto has_notice = [&] { return why_ || (reported_ && !inferred_); };
    if (!changed_.wait_for(lock, kNoticeGrace, has_notice)) return {};
    return why_ ? *why_ : *reported_;
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
    // Abort before the calls finish: the program may free their buffers as soon as it sees the Error. Where the GPU is
    // stuck in a kernel, the abort goes on in its thread, and the Error does not wait for it.
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

FailureNotice::CallRecord NcclBackend::calls_around(std::uint64_t sequence) const {
    FailureNotice::CallRecord shown;
    for (const Signature& call : history_) {
        shown.last = call.sequence;
        if (call.sequence + kRecordedAround >= sequence && call.sequence <= sequence + kRecordedAround)
            shown.calls.push_back(call);
    }
    return shown;
}

void NcclBackend::check_usable() const {
    const std::lock_guard lock(mutex_);
    if (why_) throw ended_before(*why_, group_.name);
}

Error NcclBackend::translate(const Failure& failure, const Error::Where& where) const {
    const std::string text = fmt::format(
        "{}NCCL: {}", failure.refused() ? fmt::format("rank {}: ", group_.named(group_.rank)) : "", failure.what());
    ErrorCode code = ErrorCode::backend;
    if (failure.result() == Result::remote_error) code = ErrorCode::peer_lost;
    if (failure.result() == Result::timeout) code = ErrorCode::timeout;
    if (where.op.empty()) return {code, fmt::format("group {}: {}", group_.name, text), {}, where};
    return worker::failure(code, where, {}, text);
}

}  // namespace dlaunch::worker::nccl
