#include "agent/process/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace dlaunch::agent {

sigset_t taken_signals() {
    sigset_t set;
    sigfillset(&set);
    for (int number : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&set, number);
    return set;
}

SignalIntake::SignalIntake(base::Loop& loop, GuardLink& link, Handlers handlers)
    : link_(link), handlers_(std::move(handlers)) {
    const sigset_t taken = taken_signals();
    fd_.reset(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    own_watch_ = loop.readable(fd_.get(), [this] { read_own(); });
    link_watch_ = loop.readable(link_.fd(), [this] { read_link(); });
}

/// The guard's own SIGCONT wakes a stopped agent, the kernel's tells that the guard died: neither is meant for workers.
bool SignalIntake::is_from_somebody_else(const signalfd_siginfo& got) const {
    return got.ssi_code == SI_USER && static_cast<pid_t>(got.ssi_pid) != link_.guard();
}

void SignalIntake::read_own() {
    bool child = false;
    signalfd_siginfo got{};
    while (read(fd_.get(), &got, sizeof got) == static_cast<ssize_t>(sizeof got)) {
        if (got.ssi_signo == SIGCHLD)
            child = true;
        else if (got.ssi_signo != SIGCONT || is_from_somebody_else(got))
            hand_to_guard(static_cast<int>(got.ssi_signo));
    }
    if (child) handlers_.child();
}

void SignalIntake::read_link() {
    for (;;) {
        const GuardLink::Received received = link_.receive();
        if (received.kind == GuardLink::Kind::nothing) return;
        if (received.kind == GuardLink::Kind::guard_died) {
            link_watch_ = {};
            handlers_.guard_died();
            return;
        }
        handlers_.signals(received.signals);
    }
}

/// There is one way in: a signal that the guard got too is the same request, and the guard tells it once.
void SignalIntake::hand_to_guard(int number) {
    if (getppid() == link_.guard()) kill(link_.guard(), number);
}

}  // namespace dlaunch::agent
