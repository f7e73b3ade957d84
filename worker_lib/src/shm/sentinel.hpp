#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::worker::shm {

/// Tells who is interested that a process on this host has ended, in the moment that it does: one thread for all,
/// asleep until then.
class Sentinel {
public:
    using Id = std::uint64_t;

    /// This process's. It is never destroyed, as groups may be destroyed at any time.
    static Sentinel& instance();

    /// `told` is called once, from another thread, or from here when the process is gone already. It must not call us.
    Id watch(int pid, std::function<void()> told);
    /// `told` is not called any more, and does not run any more.
    void forget(Id id);

private:
    Sentinel();
    void serve();

    struct Watch {
        int pid;
        std::function<void()> told;
    };
    std::mutex mutex_;
    base::UniqueFd epoll_;
    std::map<int, base::UniqueFd> processes_;  // by pid
    std::map<Id, Watch> watches_;
    Id next_ = 1;
};

}  // namespace dlaunch::worker::shm
