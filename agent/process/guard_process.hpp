#pragma once
/// The guard's state and actions; see guard.hpp. Used by guard*.cpp only.

#include <signal.h>
#include <sys/types.h>
#include <termios.h>

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process/coordinator_child.hpp"
#include "agent/process/guard.hpp"
#include "agent/process/guard_lease.hpp"
#include "agent/process/guard_message.hpp"
#include "agent/process/signal_copies.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

struct Guard {
    int socket = -1;
    int signals = -1;
    /// Readable while SIGTSTP is pending, and read only where no process stops: a SIGCONT that comes before the guard
    /// has stopped cancels a pending SIGTSTP, and would be lost behind one that the guard raised.
    int stop_requests = -1;
    pid_t agent = 0;
    std::string_view host;  ///< for its lines, of a front end's node; empty: none
    std::string cgroup;
    std::vector<std::string> folders;
    bool sweeps_shared_memory = false;  ///< the workers use MPI
    bool starts_nodes = false;          ///< the agent is a front end
    /// Children that sweeps spare: those from before `exec dlaunch`, the coordinator, the child that removes folders,
    /// and an agent that cannot exit (give_up_remains).
    std::vector<pid_t> spared_children;
    int status = 0;                  ///< the agent's, from waitpid()
    const termios* modes = nullptr;  ///< of the terminal at the start; null: none
    bool agent_alive = true;
    Lease* lease = nullptr;
    bool has_lease = false;  ///< false: the lease's page is untouched, which saves memory
    bool hangup_ignored = false;
    bool agent_ready = false;       ///< the agent reads signals, and removes its files itself
    bool asked_to_stop = false;     ///< the agent has been told of the pending SIGTSTP
    int continued = 0;              ///< SIGCONTs passed to the agent: a suspension that one of them ends is none
    bool keeps_status = false;      ///< after a signal the exit status shows it, and not a death
    std::set<int> received;         ///< signals that have come to this process
    SignalCopies copies;            ///< on a front end's node: from its relay, and from elsewhere
    int ended_by = 0;               ///< the signal for which the guard killed an agent before ready(); 0: none
    int connection = -1;            ///< copy of the agent's connection to the coordinator; -1: none
    std::string goodbye;            ///< bytes to send on the connection when no worker lives
    std::string returning_goodbye;  ///< the same if another agent follows

    /// The agent has announced its exit. If one of its threads is blocked in a system call on a disk that does not
    /// answer, the agent cannot be reaped, and the guard exits without it.
    bool agent_ends = false;
    int announced_status = 0;
    std::string announced_text;
    bool waited_for_console = false;  ///< by the agent, which announced its exit after that
    base::Time agent_due;

    int last_record = -1;  ///< a memory file with the facts for the report of a killed agent's job; -1: there is none
    LastRecordWriter write_last_record = nullptr;
    int status_listener = -1;  ///< at which the scheduler's other tasks wait for the exit status; -1: there are none
    int task_count = 0;        ///< with this one

    // --- an unresponsive agent (guard_unresponsive.cpp)
    base::Duration rejoin = std::chrono::minutes(1);    ///< time for the agent to rejoin after a fence
    base::Time fenced_agent_deadline = Lease::kNever;   ///< deadline of a fenced agent to lift its lease
    base::Time unread_signal_deadline = Lease::kNever;  ///< deadline of the agent to read `unread_signal`
    int unread_signal = 0;
    base::Time next_leader_check = Lease::kNever;
    base::Time dead_leader_deadline = Lease::kNever;  ///< deadline of the agent's other threads to end, too

    CoordinatorChild coordinator{nullptr};
    bool only_coordinator = false;  ///< the guard runs a coordinator and no agent
    int end_signal = 0;             ///< received with only_coordinator; 0: none
    base::Time agent_began;
    int agent_deaths = 0;  ///< early deaths in a row

    [[nodiscard]] bool receive(GuardMessage& message);
    void read_messages();
    void close_connection(bool none_lives);
    void stop(int by);
    void send_to_agent(const GuardMessage& message);
    [[nodiscard]] int patience() const;
    void fence();
    bool drain_signals(sigset_t& seen);
    [[nodiscard]] bool has_stop_request() const;
    void take_stop_request(sigset_t& seen);
    [[nodiscard]] int end_signal_in(const sigset_t& seen) const;
    void pass_signals();
    void pass_to_coordinator(int number) const { coordinator.signal(number == SIGINT ? SIGINT : SIGTERM); }
    void collect();
    void stop_waiting_for_agent();
    void leave_agent(int with_status);
    void expect_to_be_read(int number);
    void give_up_frozen_agent();
    void give_up_remains();
    void give_up_agent(int with_status, const char* because);
    void take_descriptors(const GuardMessage& message, std::span<const int> descriptors);
    void look_after_coordinator();
    [[nodiscard]] bool agent_was_killed() const;
    [[nodiscard]] bool starts_agent_again();
    pid_t begin_removal();
    void write_records();
    void forget_agent();
    void clear_deadlines();
    void turn();
    void watch_agent();
    void watch_coordinator();
    void end_coordinator();
    void give_up_coordinator();
    [[nodiscard]] bool agent_is_left() const;
    [[nodiscard]] bool kill_workers();
    void let_nodes_end();
    [[nodiscard]] std::string last_line() const;
    [[nodiscard]] std::string last_text() const;
    [[nodiscard]] bool is_asked_to_end() const;
    void print_last_text();
    void die_if_signalled(int own_status) const;
    [[noreturn]] void exit_with(int own_status);
    void clean_up_after_agent(bool returns);
    [[noreturn]] void end();
};

}  // namespace dlaunch::agent
