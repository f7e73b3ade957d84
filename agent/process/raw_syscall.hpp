#pragma once
/// System calls that write no memory: a child that shares memory with its running parent must not write errno, as
/// libc's wrappers do. Returns -errno, as the kernel does.

#include <sys/syscall.h>

namespace dlaunch::agent {

#if defined(__x86_64__)
#define DLAUNCH_HAS_RAW_SYSCALL 1
[[gnu::always_inline]] inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    long result;
    register long fourth asm("r10") = d;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
#define DLAUNCH_HAS_RAW_SYSCALL 1
[[gnu::always_inline]] inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    register long x8 asm("x8") = number;
    register long x0 asm("x0") = a;
    register long x1 asm("x1") = b;
    register long x2 asm("x2") = c;
    register long x3 asm("x3") = d;
    asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
}
#else
// libc's wrapper is safe where the parent is suspended (CLONE_VFORK).
long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0);
#endif

/// A pointer as a system call argument.
template <class T>
long raw(T* pointer) {
    return reinterpret_cast<long>(pointer);
}

}  // namespace dlaunch::agent
