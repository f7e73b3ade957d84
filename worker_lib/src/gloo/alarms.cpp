#include "worker_lib/src/gloo/alarms.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <system_error>

namespace dlaunch::worker::gloo_backend {
namespace {

constexpr auto kForEver = std::chrono::hours(24 * 365);

}  // namespace

Alarms::Alarms(gloo::transport::tcp::Device& device)
    : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!timer_) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    device.registerDescriptor(timer_.get(), EPOLLIN, this);
}

bool Alarms::wait(gloo::transport::UnboundBuffer& buffer, bool sends, Time deadline) {
    Wait wait{buffer, sends};
    std::unique_lock lock(mutex_);
    const auto entry = waits_.emplace(deadline, &wait);
    if (deadline < set_) set(deadline);
    lock.unlock();
    const auto forget = [&] {
        lock.lock();
        if (!wait.late) waits_.erase(entry);
    };
    const auto until_done_or_aborted = [&] { return sends ? buffer.waitSend(kForEver) : buffer.waitRecv(kForEver); };
    bool done = false;
    try {
        done = until_done_or_aborted();
    } catch (...) {
        forget();
        throw;
    }
    forget();
    if (!done && wait.late) throw TimedOut();
    if (wait.late) {  // done just before it was aborted; the next wait for this buffer is not to be
        try {
            until_done_or_aborted();
        } catch (const std::exception&) {
            // That one will be told.
        }
    }
    return done;
}

/// The timer is not moved when waits end: most have ended long before it is due.
void Alarms::handleEvents(int) {
    std::uint64_t ignored;
    if (read(timer_.get(), &ignored, sizeof ignored) < 0) return;
    const std::lock_guard lock(mutex_);
    const Time now = Clock::now();
    while (!waits_.empty() && waits_.begin()->first <= now) {
        Wait& wait = *waits_.begin()->second;
        waits_.erase(waits_.begin());
        wait.late = true;
        wait.sends ? wait.buffer.abortWaitSend() : wait.buffer.abortWaitRecv();
    }
    set(waits_.empty() ? Time::max() : waits_.begin()->first);
}

void Alarms::set(Time when) {
    set_ = when;
    itimerspec timer{};
    if (when < Time::max()) {
        // At once is the earliest that there is; 0 would stop the timer.
        const auto since = std::max<std::chrono::nanoseconds>(when.time_since_epoch(), std::chrono::nanoseconds(1));
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
        timer.it_value = {static_cast<time_t>(seconds.count()), static_cast<long>((since - seconds).count())};
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
}

}  // namespace dlaunch::worker::gloo_backend
