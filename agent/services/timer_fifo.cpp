#include "agent/services/timer_fifo.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "agent/errors/escape.hpp"

#include "rendezvous/base/host.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::agent {

namespace {

/// Reads per turn. A pipe holds 16 of them; a writer that never stops must not hold the loop.
constexpr int kMostReads = 64;

std::string chosen_path() {
    return fmt::format("{}/watchdog_timer_{:016x}", base::temporary_folder(), base::random_number());
}

/// A FIFO may be left over from a launcher that was killed.
bool is_fifo(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
}

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

base::Result<TimerFifo::Pipe> TimerFifo::make(std::string path) {
    if (path.empty()) path = chosen_path();
    if (is_fifo(path)) ::unlink(path.c_str());
    if (::mkfifo(path.c_str(), 0600) != 0)
        return base::Error{fmt::format("timer file {}: {}", printable(path), std::strerror(errno))};
    // The agent's own writing end prevents end of file while no worker has the FIFO open.
    base::UniqueFd fifo(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fifo) {
        const int error = errno;
        ::unlink(path.c_str());
        return base::Error{fmt::format("timer file {}: {}", printable(path), std::strerror(error))};
    }
    return Pipe{std::move(path), std::move(fifo)};
}

TimerFifo::TimerFifo(base::Loop& loop, Pipe pipe, OnExpired on_expired)
    : loop_(loop), pipe_(std::move(pipe)), on_expired_(std::move(on_expired)) {
    watch_ = loop_.readable(pipe_.fifo.get(), [this] {
        read_all();
        wait();
    });
}

TimerFifo::~TimerFifo() { ::unlink(pipe_.path.c_str()); }

void TimerFifo::read_all() {
    std::array<char, 4096> buffer{};
    for (int i = 0; i < kMostReads; ++i) {
        const ssize_t got = ::read(pipe_.fifo.get(), buffer.data(), buffer.size());
        if (got <= 0) return;
        table_.feed({buffer.data(), static_cast<std::size_t>(got)}, std::chrono::system_clock::now(),
                    base::Clock::now());
    }
}

void TimerFifo::wait() {
    timer_ = base::Timer();
    if (const auto next = table_.next_deadline())
        timer_ = loop_.after(std::max(*next - base::Clock::now(), base::Duration::zero()), [this] { check(); });
}

void TimerFifo::check() {
    // Requests that arrived in time but are unread yet count.
    read_all();
    const auto expired = table_.expired(base::Clock::now(), is_alive);
    wait();
    const OnExpired call = on_expired_;  // the call may destroy this object
    for (const ExpiredTimer& timer : expired) call(timer.pid, timer.scope, timer.signal);
}

}  // namespace dlaunch::agent
