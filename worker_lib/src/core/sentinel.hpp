#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker {

/// Tells who is interested that a process on this host has ended, in the moment that it does, or that somebody has said
/// something: one thread for all, asleep until then.
class Sentinel {
public:
    using Id = std::uint64_t;

    /// This process's. It is never destroyed, as groups may be destroyed at any time.
    static Sentinel& instance();

    /// `told` is called once, from another thread, or from here when the process is gone already. It must not call us.
    Id watch(int pid, std::function<void()> told);
    /// `heard` is called whenever `fd` is readable, from another thread, until it returns false.
    void listen(int fd, std::function<bool()> heard);
    /// `told` is not called any more, and does not run any more.
    void forget(Id id);

private:
    Sentinel();
    void serve();
    void hear(int fd);

    struct Watch {
        int pid;
        std::function<void()> told;
    };
    std::mutex mutex_;
    base::UniqueFd epoll_;
    std::map<int, base::UniqueFd> processes_;  // by pid
    std::map<Id, Watch> watches_;
    std::map<int, std::function<bool()>> listeners_;  // by descriptor
    Id next_ = 1;
};

}  // namespace dlaunch::worker
