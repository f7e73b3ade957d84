#pragma once
/// System calls that touch nothing but registers: a child that shares our memory while we run on must not write our
/// errno, which libc's wrappers do. Returns -errno as the kernel does.

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
// Only used by a vfork child, for which libc's wrapper is right: the parent stands still.
long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0);
#endif

/// A pointer as the kernel takes it.
template <class T>
long raw(T* pointer) {
    return reinterpret_cast<long>(pointer);
}

}  // namespace dlaunch::agent
