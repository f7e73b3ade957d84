#include "agent/services/timer_service.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace dlaunch::agent {

namespace {

/// Reads per turn. A pipe holds 16 of them; a writer that never stops must not hold the loop.
constexpr int kMostReads = 64;

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

TimerService::TimerService(base::Loop& loop, std::shared_ptr<const TimerFifo> fifo, OnExpired on_expired)
    : loop_(loop), fifo_(std::move(fifo)), on_expired_(std::move(on_expired)) {
    watch_ = loop_.readable(fifo_->fd(), [this] {
        read_requests();
        wait();
    });
}

void TimerService::read_requests() {
    std::array<char, 4096> buffer{};
    for (int i = 0; i < kMostReads; ++i) {
        const ssize_t got = ::read(fifo_->fd(), buffer.data(), buffer.size());
        if (got <= 0) return;
        table_.feed({buffer.data(), static_cast<std::size_t>(got)}, std::chrono::system_clock::now(),
                    base::Clock::now());
    }
}

void TimerService::wait() {
    timer_ = base::Timer();
    if (const auto next = table_.next_deadline())
        timer_ = loop_.after(std::max(*next - base::Clock::now(), base::Duration::zero()), [this] { check(); });
}

void TimerService::check() {
    // Requests that arrived in time but are unread yet count.
    read_requests();
    const auto expired = table_.expired(base::Clock::now(), is_alive);
    wait();
    const OnExpired call = on_expired_;  // the call may destroy this object
    for (const ExpiredTimer& timer : expired) call(timer.pid, timer.scope, timer.signal);
}

}  // namespace dlaunch::agent
