#include "worker_lib/src/core/continuations.hpp"

#include <algorithm>

#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/core/process_singleton.hpp"

namespace dlaunch::worker {
namespace {

/// Calls on device memory, and time-outs of messages, ring no bell: done() finds them.
constexpr std::chrono::milliseconds kPollInterval{1};
constexpr std::chrono::hours kIdleInterval{1};  // add() rings

}  // namespace

Continuations& Continuations::instance() {
    return process_singleton<Continuations>([] { return new Continuations; });
}

Continuations::Id Continuations::next_id() {
    const std::lock_guard lock(mutex_);
    return ++last_id_;
}

void Continuations::add(Id id, std::shared_ptr<WorkState> call, std::function<void()> function) {
    call->add_bell(bell_);
    const std::lock_guard lock(mutex_);
    items_.push_back({id, std::move(call), std::move(function)});
    if (!started_) {
        const base::SignalsBlocked for_the_new_thread;
        std::thread thread([this] { serve(); });
        thread_id_ = thread.get_id();  // before the thread can have the mutex, hence before any function runs
        thread.detach();
        started_ = true;
    }
    bell_->ring();
}

void Continuations::cancel(Id id) {
    Item cancelled{};  // destroyed outside the lock
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(items_.begin(), items_.end(), [&](const Item& item) { return item.id == id; });
    if (at == items_.end()) return;
    cancelled = std::move(*at);
    items_.erase(at);
}

/// Runs the first function whose call has ended. False: there is none.
bool Continuations::run_one() {
    std::unique_lock lock(mutex_);
    const auto at = std::find_if(items_.begin(), items_.end(), [](const Item& item) { return item.call->done(); });
    if (at == items_.end()) return false;
    const Item item = std::move(*at);
    items_.erase(at);
    lock.unlock();
    item.call->remove_bell(bell_);
    item.function();
    return true;
}

void Continuations::serve() {
    for (;;) {
        if (run_one()) continue;
        bool idle = false;
        {
            const std::lock_guard lock(mutex_);
            idle = items_.empty();
        }
        bell_->wait_until(idle ? after(kIdleInterval) : after(kPollInterval));
    }
}

}  // namespace dlaunch::worker
