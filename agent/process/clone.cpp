// The child shares this process's memory as after vfork(2), but the parent runs while the child executes its program:
// the file system may not respond. clone3(2) has an advantage over clone(2): birth inside a cgroup (moving there
// later takes a lock that costs milliseconds). glibc 2.36 has no wrapper. The kernel clears orders->running, like a
// thread's id, when the child leaves the shared memory.

#include "agent/process/clone.hpp"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "agent/process/raw_syscall.hpp"

namespace dlaunch::agent {
namespace {

#if defined(__x86_64__)
#define DLAUNCH_HAS_CLONE3 1
long clone3_run(clone_args* args, std::size_t size, void (*run)(ChildOrders*), ChildOrders* orders) {
    long result;
    register auto run_register asm("r12") = run;
    register auto orders_register asm("r13") = orders;
    asm volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%ebp, %%ebp\n\t"
        "mov %%r13, %%rdi\n\t"
        "call *%%r12\n\t"
        "hlt\n"
        "1:"
        : "=a"(result)
        : "a"(SYS_clone3), "D"(args), "S"(size), "r"(run_register), "r"(orders_register)
        : "rcx", "r11", "memory", "cc");
    return result;
}
#elif defined(__aarch64__)
#define DLAUNCH_HAS_CLONE3 1
long clone3_run(clone_args* args, std::size_t size, void (*run)(ChildOrders*), ChildOrders* orders) {
    register long x0 asm("x0") = reinterpret_cast<long>(args);
    register long x1 asm("x1") = static_cast<long>(size);
    register long x8 asm("x8") = SYS_clone3;
    register auto x10 asm("x10") = run;
    register auto x11 asm("x11") = orders;
    asm volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x0, x11\n\t"
        "blr x10\n\t"
        "brk #1\n"
        "1:"
        : "+r"(x0)
        : "r"(x1), "r"(x8), "r"(x10), "r"(x11)
        : "memory", "cc");
    return x0;
}
#endif

/// If clone3 is missing or refused (a seccomp filter): no cgroup.
Cloned by_clone(ChildOrders* orders, void* stack) {
    Cloned made;
    int flags = CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD;
#ifndef DLAUNCH_HAS_RAW_SYSCALL
    flags |= CLONE_VFORK;  // the child writes errno: suspend the parent
#endif
    const auto run = [](void* given) -> int { run_child(static_cast<ChildOrders*>(given)); };
    orders->running = 1;
    const pid_t pid =
        ::clone(run, static_cast<char*>(stack) + kChildStackBytes, flags, orders, nullptr, nullptr, &orders->running);
    if (pid < 0) {
        made.error = errno;
        orders->running = 0;
        return made;
    }
    made.pid = pid;
    made.pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    made.error = made.pidfd < 0 ? errno : 0;
    return made;
}

#ifdef DLAUNCH_HAS_CLONE3
Cloned by_clone3(ChildOrders* orders, void* stack, int cgroup) {
    Cloned made;
    clone_args args{};
    args.flags = CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID;
    args.pidfd = reinterpret_cast<std::uintptr_t>(&made.pidfd);
    args.child_tid = reinterpret_cast<std::uintptr_t>(&orders->running);
    args.exit_signal = SIGCHLD;
    args.stack = reinterpret_cast<std::uintptr_t>(stack);
    args.stack_size = kChildStackBytes;
    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    orders->running = 1;
    const long result = clone3_run(&args, sizeof args, run_child, orders);
    if (result < 0)
        made.error = static_cast<int>(-result);
    else
        made.pid = static_cast<pid_t>(result), made.in_cgroup = cgroup >= 0;
    return made;
}
#endif

}  // namespace

#ifndef DLAUNCH_HAS_RAW_SYSCALL
long raw_syscall(long number, long a, long b, long c, long d) {
    const long result = syscall(number, a, b, c, d);
    return result < 0 ? -errno : result;
}
#endif

Cloned clone_child(ChildOrders* orders, void* stack, int cgroup) {
#ifdef DLAUNCH_HAS_CLONE3
    Cloned made = by_clone3(orders, stack, cgroup);
    // Start without a cgroup if it accepts no processes (threaded, removed, owned by another user).
    if (made.pid < 0 && cgroup >= 0 && made.error != EAGAIN && made.error != ENOMEM)
        made = by_clone3(orders, stack, -1);
    // Old container runtimes refuse unknown system calls with EPERM.
    if (made.pid >= 0 || (made.error != ENOSYS && made.error != EPERM)) return made;
#else
    static_cast<void>(cgroup);
#endif
    return by_clone(orders, stack);
}

bool is_starting(const ChildOrders* orders) { return __atomic_load_n(&orders->running, __ATOMIC_ACQUIRE) != 0; }

void await_child(const ChildOrders* orders) {
    while (is_starting(orders)) syscall(SYS_futex, &orders->running, FUTEX_WAIT, 1, nullptr, nullptr, 0);
}

bool await_child(const ChildOrders* orders, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (is_starting(orders)) {
        const std::chrono::nanoseconds left = end - std::chrono::steady_clock::now();
        if (left <= left.zero()) return false;
        const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
        const timespec wait{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
        syscall(SYS_futex, &orders->running, FUTEX_WAIT, 1, &wait, nullptr, 0);
    }
    return true;
}

}  // namespace dlaunch::agent
