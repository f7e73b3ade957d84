#include "agent/services/timer_service.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

namespace dlaunch::agent {

namespace {

/// Reads per turn. A pipe holds 16 of them; a writer that never stops must not hold the loop.
constexpr int kMostReads = 64;

bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

}  // namespace

TimerService::TimerService(base::Loop& loop, AgentSocket& socket, std::shared_ptr<const TimerFifo> fifo,
                           OnExpired on_expired)
    : loop_(loop), fifo_(std::move(fifo)), on_expired_(std::move(on_expired)) {
    socket.on_request("timers", [this](AgentSocket::Request request) { serve(std::move(request)); });
    if (fifo_->path().empty()) return;
    watch_ = loop_.readable(fifo_->fd(), [this] {
        read(fifo_->fd(), fifo_writer_);
        wait();
    });
}

void TimerService::serve(AgentSocket::Request request) {
    const int descriptor = request.connection.get();
    Client& client = clients_[descriptor];
    client.connection = std::move(request.connection);
    client.watch = loop_.readable(descriptor, [this, descriptor] { on_ready(descriptor); });
    take(client.writer, request.more);
    wait();
}

void TimerService::on_ready(int descriptor) {
    if (!read(descriptor, clients_.at(descriptor).writer)) clients_.erase(descriptor);
    wait();
}

void TimerService::take(TimerTable::Writer& from, std::string_view bytes) {
    table_.feed(from, bytes, std::chrono::system_clock::now(), base::Clock::now());
}

bool TimerService::read(int descriptor, TimerTable::Writer& from) {
    std::array<char, 4096> buffer{};
    for (int i = 0; i < kMostReads; ++i) {
        const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (got < 0) break;
        take(from, {buffer.data(), static_cast<std::size_t>(got)});
    }
    return true;
}

void TimerService::read_unread() {
    if (!fifo_->path().empty()) read(fifo_->fd(), fifo_writer_);
    for (auto at = clients_.begin(); at != clients_.end();)
        at = read(at->first, at->second.writer) ? std::next(at) : clients_.erase(at);
}

void TimerService::wait() {
    timer_ = base::Timer();
    if (const auto next = table_.next_deadline())
        timer_ = loop_.after(std::max(*next - base::Clock::now(), base::Duration::zero()), [this] { check(); });
}

void TimerService::check() {
    // Requests that arrived in time but are unread yet count.
    read_unread();
    const auto expired = table_.expired(base::Clock::now(), is_alive);
    wait();
    const OnExpired call = on_expired_;  // the call may destroy this object
    for (const ExpiredTimer& timer : expired) call(timer.pid, timer.scope, timer.signal);
}

}  // namespace dlaunch::agent
