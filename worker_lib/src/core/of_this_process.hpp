#pragma once

#include <unistd.h>

#include <mutex>

namespace dlaunch::worker {

/// The one T of this process, as `make` makes it when it is first asked for. It is never destroyed, as it may be used
/// until the process ends. A forked child has no thread of its parent's, so it gets a T of its own. Any thread.
template <class T, class Make>
T& of_this_process(Make make) {
    static std::mutex mutex;
    static T* it = nullptr;
    static int owner = 0;
    const std::lock_guard lock(mutex);
    if (owner != getpid()) {
        it = make();
        owner = getpid();
    }
    return *it;
}

}  // namespace dlaunch::worker
