// Code between clone and exec: spawn_child.hpp has the rules for it.

#include "agent/process/spawn_child.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "agent/process/raw_syscall.hpp"

namespace dlaunch::agent {
namespace {

/// The kernel's own struct sigaction; libc's differs.
struct KernelSigaction {
    unsigned long handler = 0;  // SIG_DFL
    unsigned long flags = 0;
    unsigned long restorer = 0;
    unsigned long mask = 0;
};

constexpr long kSignalSetBytes = 8;

[[noreturn]] void fail(ChildOrders* orders, SpawnStep step, long result) {
    orders->error = static_cast<int>(-result);
    orders->step = step;
    for (;;) raw_syscall(SYS_exit_group, 127);
}

void must(ChildOrders* orders, SpawnStep step, long result) {
    if (result < 0) fail(orders, step, result);
}

void die_with_parent(ChildOrders* orders) {
    must(orders, SpawnStep::prepare, raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, orders->death_signal));
    // If the parent died before prctl, the kernel will not send the signal.
    if (raw_syscall(SYS_getppid) != orders->parent) fail(orders, SpawnStep::parent_died, -ESRCH);
}

void take_place(ChildOrders* orders) {
    if (orders->terminal < 0) return must(orders, SpawnStep::session, raw_syscall(SYS_setsid));
    // SIGTTOU is blocked, so a background process may take the terminal without being stopped.
    must(orders, SpawnStep::session, raw_syscall(SYS_setpgid, 0, 0));
    if (!orders->foreground) return;
    const int group = static_cast<int>(raw_syscall(SYS_getpid));
    must(orders, SpawnStep::terminal, raw_syscall(SYS_ioctl, orders->terminal, TIOCSPGRP, raw(&group)));
}

void take_limits(ChildOrders* orders) {
    if (orders->affinity)
        must(orders, SpawnStep::affinity,
             raw_syscall(SYS_sched_setaffinity, 0, static_cast<long>(orders->affinity_bytes), raw(orders->affinity)));
    if (orders->open_files)
        must(orders, SpawnStep::limits, raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, raw(orders->open_files), 0));
}

void take_files(ChildOrders* orders) {
    for (int target = 0; target < 3; ++target)
        if (orders->files[target] >= 0)
            must(orders, SpawnStep::files, raw_syscall(SYS_dup3, orders->files[target], target, 0));
    // For descriptors that libraries of the agent opened without O_CLOEXEC. keep_descriptors() has marked those of the
    // agent's caller, also where a seccomp filter refuses this call.
    raw_syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    for (const int* kept = orders->kept; *kept >= 0; ++kept)
        must(orders, SpawnStep::files, raw_syscall(SYS_fcntl, *kept, F_SETFD, 0));
}

void take_signals(ChildOrders* orders) {
    const KernelSigaction standard;
    for (int number = 1; number < NSIG; ++number)
        if (sigismember(orders->ignored, number) == 1)
            raw_syscall(SYS_rt_sigaction, number, raw(&standard), 0, kSignalSetBytes);
    const unsigned long none = 0;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, raw(&none), 0, kSignalSetBytes);
}

/// After take_signals(): a signal must end a process that waits for a file system here.
void change_directory(ChildOrders* orders) {
    if (orders->working_directory)
        must(orders, SpawnStep::directory, raw_syscall(SYS_chdir, raw(orders->working_directory)));
}

bool exists(const char* path, struct stat& about) {
    return raw_syscall(SYS_newfstatat, AT_FDCWD, raw(path), raw(&about), 0) == 0;
}

/// Executes the first file that can be executed. Else reports the first that exists; directories do not count in a
/// search. The child itself examines a refused file, because the file system may not respond.
[[noreturn]] void execute(ChildOrders* orders) {
    const char* const* const paths = orders->paths;
    const bool searches = paths[0] && paths[1];
    struct stat about;
    orders->tried = -1;
    long why = -ENOENT;
    int at = 0;
    for (; paths[at]; ++at) {
        why = raw_syscall(SYS_execve, raw(paths[at]), raw(orders->arguments), raw(orders->environment));
        const bool is_elsewhere = why == -ENOENT || why == -ENOTDIR || why == -EACCES;
        if (!searches || !is_elsewhere) break;
    }
    if (!paths[at])  // find an existing file, without its interpreter or without permission to execute
        for (at = 0, why = -ENOENT; paths[at]; ++at)
            if (exists(paths[at], about) && !S_ISDIR(about.st_mode)) break;
    if (paths[at] && exists(paths[at], about)) {
        orders->tried = at;
        orders->mode = about.st_mode;
        if (searches && why == -ENOENT)
            why = raw_syscall(SYS_execve, raw(paths[at]), raw(orders->arguments), raw(orders->environment));
    }
    fail(orders, SpawnStep::execute, why);
}

}  // namespace

void run_child(ChildOrders* orders) {
    die_with_parent(orders);
    take_place(orders);
    take_limits(orders);
    take_files(orders);
    take_signals(orders);
    change_directory(orders);
    execute(orders);
}

}  // namespace dlaunch::agent
