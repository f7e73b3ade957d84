#pragma once
/// All code that runs between clone and exec. The child shares memory with the running parent, so this code must not
/// allocate, lock, throw, or write anything but its own orders, not even errno. System calls go through raw_syscall.

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

namespace dlaunch::agent {

/// The child's steps. The parent reads the failed one.
enum class SpawnStep : int { prepare, parent_died, session, terminal, affinity, limits, directory, files, execute };

/// The child's input, prepared by the parent. The orders and everything they point to must not change until `running`
/// is 0.
struct ChildOrders {
    const char* const* paths;  ///< tried in turn, as execvp(3) does; ends with a null pointer
    char* const* arguments;
    char* const* environment;
    int files[3];
    const int* kept;                ///< descriptors that stay open; the list ends with -1
    const char* working_directory;  ///< null: stay
    const unsigned long* affinity;  ///< a mask for sched_setaffinity(2); null: keep
    unsigned long affinity_bytes;
    const rlimit* open_files;  ///< null: keep
    int terminal;              ///< -1: new session; else new process group in the agent's session
    bool foreground;           ///< make the group the terminal's foreground group
    pid_t parent;
    int death_signal = SIGKILL;  ///< at the parent's end
    const sigset_t* ignored;     ///< signals that the parent ignores; reset to default

    // Written by a child that fails, before `running` becomes 0.
    volatile SpawnStep step;
    volatile int error;
    volatile int tried;  ///< with `execute`: the index of the file that cannot be executed; -1: none of `paths` exists
    volatile unsigned mode;  ///< its st_mode
    /// A futex that the kernel clears when the child has executed its program or exited (CLONE_CHILD_CLEARTID).
    int running;
};

/// Becomes the worker, or leaves step and error in `orders` and exits with 127.
[[noreturn]] void run_child(ChildOrders* orders);

}  // namespace dlaunch::agent
