#pragma once

#include <csignal>

namespace dlaunch::base {

/// While it lives every signal is blocked in this thread. A thread started meanwhile inherits that for its whole life:
/// signals are for the program's own threads. pthread_sigmask(3).
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
