#pragma once
/// Everything that runs between clone and exec. The child shares our memory, and we run on beside it: nothing here may
/// allocate, lock, throw, or write anything but its own orders, not even errno. System calls go through raw_syscall.

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

namespace dlaunch::agent {

/// Which step the child is at; the parent reads it when the child failed.
enum class SpawnStep : int { prepare, parent_died, session, terminal, affinity, limits, directory, files, execute };

/// All the child needs, made ready by the parent. It and all it points to stays as it is until `running` is 0.
struct ChildOrders {
    const char* path;
    char* const* arguments;
    char* const* environment;
    int files[3];
    const char* working_directory;  ///< null: stay
    const unsigned long* affinity;  ///< a mask as sched_setaffinity(2) takes it; null: keep
    unsigned long affinity_bytes;
    const rlimit* open_files;  ///< null: keep
    int terminal;              ///< -1: a session of its own; else a group of its own in ours
    bool foreground;           ///< the group takes the terminal
    pid_t parent;
    const sigset_t* ignored;  ///< signals that the parent ignores and a worker must not

    // What the child leaves when it fails, before `running` becomes 0.
    volatile SpawnStep step;
    volatile int error;
    /// A futex: the kernel clears it when the child has executed its program or ended (CLONE_CHILD_CLEARTID).
    int running;
};

/// Becomes the worker, or leaves step and error in `orders` and exits with 127.
[[noreturn]] void run_child(ChildOrders* orders);

}  // namespace dlaunch::agent
