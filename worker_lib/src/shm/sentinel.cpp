#include "worker_lib/src/shm/sentinel.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include <dlaunch/error.hpp>

namespace dlaunch::worker::shm {

Sentinel& Sentinel::instance() {
    // A forked child has no thread of its parent's: it gets a sentinel of its own.
    static std::mutex mutex;
    static Sentinel* sentinel = nullptr;
    static int owner = 0;
    const std::lock_guard lock(mutex);
    if (owner != getpid()) {
        sentinel = new Sentinel;
        owner = getpid();
    }
    return *sentinel;
}

Sentinel::Sentinel() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_) throw Error(ErrorCode::backend, "shm: no descriptor is left");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { serve(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
        event.data.fd = pid;
        if (!process || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0)
            throw Error(ErrorCode::backend, "shm: a peer's process cannot be watched: no descriptor is left");
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

void Sentinel::serve() {
    for (;;) {
        epoll_event event{};
        if (epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
        const std::lock_guard lock(mutex_);
        const int pid = event.data.fd;
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

}  // namespace dlaunch::worker::shm
