#include "worker_lib/src/core/sentinel.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <dlaunch/error.hpp>

#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/core/of_this_process.hpp"

namespace dlaunch::worker {
namespace {

/// Tells descriptors from pids in what epoll returns.
constexpr std::uint64_t kListener = std::uint64_t{1} << 32;

}  // namespace

Sentinel& Sentinel::instance() {
    return of_this_process<Sentinel>([] { return new Sentinel; });
}

Sentinel::Sentinel() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_)
        throw Error(ErrorCode::backend, std::string("peers cannot be watched: epoll_create1: ") + std::strerror(errno));
    const base::SignalsBlocked for_the_new_thread;
    std::thread([this] { serve(); }).detach();
}

Sentinel::Id Sentinel::watch(int pid, std::function<void()> told) {
    const std::lock_guard lock(mutex_);
    const Id id = next_++;
    if (!processes_.contains(pid)) {
        base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (!process && errno == ESRCH) {
            told();
            return id;
        }
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = static_cast<std::uint64_t>(pid);
        if (!process || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0)
            throw Error(ErrorCode::backend,
                        std::string("a peer's process cannot be watched: pidfd_open: ") + std::strerror(errno));
        processes_[pid] = std::move(process);
    }
    watches_[id] = {pid, std::move(told)};
    return id;
}

void Sentinel::forget(Id id) {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    const int pid = found->second.pid;
    watches_.erase(found);
    for (const auto& [other, watch] : watches_)
        if (watch.pid == pid) return;
    processes_.erase(pid);
}

void Sentinel::listen(int fd, std::function<bool()> heard) {
    const std::lock_guard lock(mutex_);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kListener | static_cast<std::uint64_t>(fd);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) listeners_[fd] = std::move(heard);
}

/// Without the lock: what is heard may end groups, and so watches.
void Sentinel::hear(int fd) {
    std::function<bool()> heard;
    {
        const std::lock_guard lock(mutex_);
        heard = listeners_[fd];
    }
    if (heard && heard()) return;
    const std::lock_guard lock(mutex_);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    listeners_.erase(fd);
}

void Sentinel::serve() {
    for (;;) {
        epoll_event event{};
        if (epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
        const int pid = static_cast<int>(event.data.u64 & (kListener - 1));
        if (event.data.u64 & kListener) {
            hear(pid);
            continue;
        }
        const std::lock_guard lock(mutex_);
        // Closing the pidfd takes it out of the set; a number seen after that is stale.
        if (processes_.erase(pid) == 0) continue;
        for (auto at = watches_.begin(); at != watches_.end();) {
            if (at->second.pid == pid) {
                at->second.told();
                at = watches_.erase(at);
            } else {
                ++at;
            }
        }
    }
}

}  // namespace dlaunch::worker
