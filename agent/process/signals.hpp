#pragma once
/// How signals come in: blocked everywhere, read from descriptors, told once.

#include <signal.h>
#include <sys/signalfd.h>

#include <functional>

#include "agent/process/guard.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Every signal that can be waited for: all but KILL, STOP and those a program raises by its own faults.
[[nodiscard]] sigset_t taken_signals();

/// What the agent hears: from its guard, whom the terminal and whoever knows the job's pid signal, or sent to itself.
class SignalIntake {
public:
    struct Handlers {
        std::function<void(const sigset_t&)> signals;  ///< one request: anything but SIGCHLD
        std::function<void()> child;                   ///< SIGCHLD: something below us ended or stopped
        std::function<void()> guard_died;              ///< told once
    };
    /// `link` must outlive this. Signals of taken_signals() must be blocked.
    SignalIntake(base::Loop& loop, GuardLink& link, Handlers handlers);

private:
    void read_own();
    void read_link();
    void hand_to_guard(int number);
    [[nodiscard]] bool is_from_somebody_else(const signalfd_siginfo& got) const;

    GuardLink& link_;
    Handlers handlers_;
    base::UniqueFd fd_;
    base::Watch own_watch_, link_watch_;
};

}  // namespace dlaunch::agent
