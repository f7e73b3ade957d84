#pragma once

#include <unistd.h>

#include <mutex>

namespace dlaunch::worker {

/// The only T of this process; the first call creates it with `make`. Never destroyed, because threads may use it until
/// the process ends. A forked child has none of its parent's threads and therefore gets a T of its own. Any thread.
template <class T, class Make>
T& process_singleton(Make make) {
    static std::mutex mutex;
    static T* instance = nullptr;
    static int owner = 0;
    const std::lock_guard lock(mutex);
    if (owner != getpid()) {
        instance = make();
        owner = getpid();
    }
    return *instance;
}

}  // namespace dlaunch::worker
