#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker {

/// Calls back when a process on this host exits or a descriptor becomes readable. One thread serves all watches; it
/// sleeps in epoll_wait between events.
class PidWatcher {
public:
    using Id = std::uint64_t;

    /// The watcher of this process. Never destroyed: groups in static storage may use it until the process ends.
    static PidWatcher& instance();

    /// Calls `on_exit` once, from the watcher's thread, or before watch() returns if the process has exited already.
    /// `on_exit` runs under the watcher's lock and must not call the watcher. Throws Error if no pidfd can be opened.
    Id watch(int pid, std::function<void()> on_exit);
    /// Calls `on_ready` from the watcher's thread whenever `fd` is readable, until `on_ready` returns false.
    void watch_fd(int fd, std::function<bool()> on_ready);
    /// After unwatch() returns, `on_exit` neither runs nor will run.
    void unwatch(Id id);

private:
    PidWatcher();
    void serve();
    void on_readable(int fd);

    struct Watch {
        int pid;
        std::function<void()> on_exit;
    };
    std::mutex mutex_;
    base::UniqueFd epoll_;
    std::map<int, base::UniqueFd> processes_;  // by pid
    std::map<Id, Watch> watches_;
    std::map<int, std::function<bool()>> readers_;  // by fd
    Id next_ = 1;
};

}  // namespace dlaunch::worker
