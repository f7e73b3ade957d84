#pragma once
/// The guard's own state and doings; see guard.hpp. For guard.cpp alone.

#include <signal.h>
#include <sys/types.h>
#include <termios.h>

#include <span>
#include <string>
#include <vector>

#include "agent/process/coordinator_child.hpp"
#include "agent/process/guard_message.hpp"
#include "agent/process/lease.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// What ends an agent that is not ready: it may be waiting for anything, a configuration in a pipe say.
inline constexpr int kEndAtOnce[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

struct Guard {
    int socket = -1;
    int signals = -1;
    pid_t agent = 0;
    std::string cgroup;
    std::vector<std::string> folders;
    std::vector<pid_t> strangers;    ///< children that were ours before we were dlaunch: `exec dlaunch` keeps them
    int status = 0;                  ///< the agent's, as waitpid gives it
    const termios* modes = nullptr;  ///< of the terminal at the start; null: none
    bool agent_alive = true;
    Lease* lease = nullptr;
    bool has_lease = false;  ///< untouched before: one page less where nobody needs it
    bool hangup_ignored = false;
    bool agent_ready = false;  ///< it takes signals, and removes what it has made
    int ended_by = 0;          ///< the signal for which we killed an agent that was not ready; 0: none
    int connection = -1;       ///< the agent's to the coordinator, as long as it has one; -1: none
    std::string goodbye;       ///< what is sent on the connection when no worker lives

    /// The agent's last message. Its threads may sit in a system call that cannot be interrupted, on a disk that does
    /// not answer: then the agent cannot be reaped, and the guard ends without it.
    bool agent_ends = false;
    int announced_status = 0;
    std::string announced_text;
    base::Time agent_due;

    CoordinatorChild coordinator{nullptr};
    bool only_coordinator = false;  ///< there is no agent any more, nor should there be one
    int told_to_end = 0;            ///< with only_coordinator the signal; 0: none
    base::Time agent_began;
    int agent_deaths = 0;  ///< soon after the start, in a row

    [[nodiscard]] bool receive(GuardMessage& message);
    void read_messages();
    void close_connection(bool none_lives);
    void stop(int by);
    void tell(const GuardMessage& message);
    [[nodiscard]] int patience() const;
    void fence();
    bool drain_signals(sigset_t& seen);
    [[nodiscard]] int ends_at_once(const sigset_t& seen) const;
    void pass_signals();
    void collect();
    void stop_waiting_for_agent();
    void take_descriptors(const GuardMessage& message, std::span<const int> descriptors);
    void look_after_coordinator();
    [[nodiscard]] bool agent_was_killed() const;
    [[nodiscard]] bool starts_agent_again();
    void forget_agent();
    void turn();
    void watch_agent();
    void watch_coordinator();
    void end_coordinator();
    [[nodiscard]] bool kill_workers();
    [[nodiscard]] std::string last_text() const;
    void clean_up_after_agent(bool returns);
    [[noreturn]] void end();
};

}  // namespace dlaunch::agent
