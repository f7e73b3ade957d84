#pragma once

#include <csignal>

namespace dlaunch::base {

/// Blocks every signal in this thread during its lifetime. A thread started meanwhile inherits the mask for good, so
/// that signals are delivered to the program's own threads. pthread_sigmask(3).
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_;
};

}  // namespace dlaunch::base
