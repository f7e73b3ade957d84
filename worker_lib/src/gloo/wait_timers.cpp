#include "worker_lib/src/gloo/wait_timers.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <system_error>

#include "worker_lib/src/mesh/mesh.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

constexpr auto kForEver = std::chrono::hours(24 * 365);

}  // namespace

WaitTimers::WaitTimers(gloo::transport::tcp::Device& device)
    : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (!timer_) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    device.registerDescriptor(timer_.get(), EPOLLIN, this);
}

bool WaitTimers::wait(gloo::transport::UnboundBuffer& buffer, bool sends, Time deadline) {
    Wait wait{buffer, sends};
    std::unique_lock lock(mutex_);
    const auto entry = waits_.emplace(deadline, &wait);
    if (deadline < armed_) arm(deadline);
    lock.unlock();
    const auto forget = [&] {
        lock.lock();
        if (!wait.timed_out) waits_.erase(entry);
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
    if (!done && wait.timed_out) throw mesh::TimedOut();
    if (wait.timed_out) {  // the transfer completed just before the abort: consume the abort, else it ends the next
                           // wait
        try {
            until_done_or_aborted();
        } catch (const std::exception&) {
            // The next wait throws the same error.
        }
    }
    return done;
}

/// Aborts overdue waits. The timer is not rearmed when a wait ends early, which is the common case; it then fires once
/// without effect.
void WaitTimers::handleEvents(int) {
    std::uint64_t ignored;
    if (read(timer_.get(), &ignored, sizeof ignored) < 0) return;
    const std::lock_guard lock(mutex_);
    const Time now = Clock::now();
    while (!waits_.empty() && waits_.begin()->first <= now) {
        Wait& wait = *waits_.begin()->second;
        waits_.erase(waits_.begin());
        wait.timed_out = true;
        wait.sends ? wait.buffer.abortWaitSend() : wait.buffer.abortWaitRecv();
    }
    arm(waits_.empty() ? Time::max() : waits_.begin()->first);
}

void WaitTimers::arm(Time when) {
    armed_ = when;
    itimerspec timer{};
    if (when < Time::max()) {
        // At least 1 ns: 0 would disarm the timer.
        const auto since = std::max<std::chrono::nanoseconds>(when.time_since_epoch(), std::chrono::nanoseconds(1));
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
        timer.it_value = {static_cast<time_t>(seconds.count()), static_cast<long>((since - seconds).count())};
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &timer, nullptr);
}

}  // namespace dlaunch::worker::gloo_backend
