#include "worker_lib/src/core/pid_watcher.hpp"

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
#include "worker_lib/src/core/process_singleton.hpp"

namespace dlaunch::worker {
namespace {

/// Set in epoll's user data for a watched descriptor; clear for a pid.
constexpr std::uint64_t kFdFlag = std::uint64_t{1} << 32;

}  // namespace

PidWatcher& PidWatcher::instance() {
    return process_singleton<PidWatcher>([] { return new PidWatcher; });
}

PidWatcher::PidWatcher() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_)
        throw Error(ErrorCode::backend, std::string("peers cannot be watched: epoll_create1: ") + std::strerror(errno));
    const base::SignalsBlocked for_the_new_thread;
    std::thread([this] { serve(); }).detach();
}

PidWatcher::Id PidWatcher::watch(int pid, std::function<void()> on_exit) {
    const std::lock_guard lock(mutex_);
    const Id id = next_++;
    if (!processes_.contains(pid)) {
        base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (!process && errno == ESRCH) {
            on_exit();
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
    watches_[id] = {pid, std::move(on_exit)};
    return id;
}

void PidWatcher::unwatch(Id id) {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    const int pid = found->second.pid;
    watches_.erase(found);
    for (const auto& [other, watch] : watches_)
        if (watch.pid == pid) return;
    processes_.erase(pid);
}

void PidWatcher::watch_fd(int fd, std::function<bool()> on_ready) {
    const std::lock_guard lock(mutex_);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kFdFlag | static_cast<std::uint64_t>(fd);
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) readers_[fd] = std::move(on_ready);
}

/// Runs the callback without the lock, because it may destroy groups, which call unwatch().
void PidWatcher::on_readable(int fd) {
    std::function<bool()> on_ready;
    {
        const std::lock_guard lock(mutex_);
        on_ready = readers_[fd];
    }
    if (on_ready && on_ready()) return;
    const std::lock_guard lock(mutex_);
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    readers_.erase(fd);
}

void PidWatcher::serve() {
    for (;;) {
        epoll_event event{};
        if (epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
        const int pid = static_cast<int>(event.data.u64 & (kFdFlag - 1));
        if (event.data.u64 & kFdFlag) {
            on_readable(pid);
            continue;
        }
        const std::lock_guard lock(mutex_);
        // erase() closes the pidfd and so removes it from the epoll set; an event for an absent pid is stale.
        if (processes_.erase(pid) == 0) continue;
        for (auto at = watches_.begin(); at != watches_.end();) {
            if (at->second.pid == pid) {
                at->second.on_exit();
                at = watches_.erase(at);
            } else {
                ++at;
            }
        }
    }
}

}  // namespace dlaunch::worker
