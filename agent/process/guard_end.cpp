// The guard's actions after the agent's exit, and with a coordinator only.

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "agent/process/cgroup.hpp"
#include "agent/process/guard_process.hpp"
#include "agent/process/print_within.hpp"
#include "agent/process/remove_folders.hpp"
#include "agent/process/status_socket.hpp"
#include "agent/process/sweep.hpp"
#include "agent/process/wait_for_exit.hpp"
#include "rendezvous/base/end_signals.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kSweepDeadline = 5000ms;
constexpr auto kNodesMayTake = 1000ms;
constexpr auto kMayTakeToPrint = 5000ms;
constexpr auto kMayTakeToPrintLate = 300ms;  // after the agent's own wait for the console, or a further signal
constexpr auto kMayTakeToRemove = 2000ms;
constexpr auto kMayTakeToRemoveLate = 300ms;  // beside a thread of the agent that hangs on a disk
constexpr auto kMayTakeToExit = 1000ms;       // after SIGKILL
constexpr auto kHandOver = 5000ms;            // for a coordinator to release its claim after SIGTERM
constexpr auto kDelivery = 60'000ms;          // upper bound; the coordinator usually exits after one node time-out
constexpr auto kSoonDead = 10'000ms;          // a shorter life of an agent is an early death
constexpr auto kFirstLeaderCheck = 1000ms;
constexpr auto kTasksMayBeLate = 5000ms;
constexpr auto kTasksMayBeLateOnTerminal = 500ms;  // under srun --pty bash no other task may ever come
constexpr int kSoonDeadInARow = 3;                 // early deaths in a row, after which the agent is not restarted

}  // namespace

bool Guard::agent_is_left() const { return std::ranges::find(spared_children, agent) != spared_children.end(); }

/// A front end's death closes the connections of its nodes, which end then.
void Guard::let_nodes_end() {
    const base::Time end = base::Clock::now() + kNodesMayTake;
    while (starts_nodes && base::Clock::now() < end && !is_asked_to_end() && !descendants(spared_children).empty()) {
        poll(nullptr, 0, 5);
        collect();
    }
}

/// True: no worker lives.
bool Guard::kill_workers() {
    let_nodes_end();
    kill_and_remove_cgroup(cgroup, kSweepDeadline);
    if (agent_is_left()) kill_below(agent, kSweepDeadline, [] { return true; });
    return sweep(kSweepDeadline, spared_children);
}

std::string Guard::last_line() const {
    if (agent_ends) return announced_text;
    if (!WIFSIGNALED(status)) return {};
    char line[160];
    if (ended_by)
        std::snprintf(line, sizeof line, "SIG%s received, ending", sigabbrev_np(ended_by));
    else
        std::snprintf(line, sizeof line, "the %s (pid %d) was killed by signal %d (%s); every worker was killed",
                      starts_nodes ? "front end" : "agent", agent, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return line;
}

std::string Guard::last_text() const {
    const std::string line = last_line();
    if (line.empty()) return {};
    // The cursor of a killed agent may stand within the block of its live view.
    const bool was_killed = (WIFSIGNALED(status) && !ended_by) || agent_is_left();
    const bool is_behind_block = was_killed && isatty(STDERR_FILENO) == 1;
    const std::string who = host.empty() ? std::string() : "host " + std::string(host) + ": ";
    return (is_behind_block ? "\r\n\x1b[Jdlaunch: " : "dlaunch: ") + who + line + "\n";
}

void Guard::look_after_coordinator() {
    const pid_t before = coordinator.pid();
    coordinator.look(base::Clock::now(), {socket, signals, stop_requests, connection, status_listener, last_record});
    if (coordinator.pid() && coordinator.pid() != before) spared_children.push_back(coordinator.pid());
}

bool Guard::agent_was_killed() const { return WIFSIGNALED(status) && !agent_ends; }

/// Whether to restart the agent. With a live coordinator of this guard the node rejoins, at the cost of one round. The
/// nodes of a front end end with it.
bool Guard::starts_agent_again() {
    if (starts_nodes || !coordinator.is_seated() || !agent_was_killed() || ended_by || !agent_ready ||
        coordinator.page().is_over)
        return false;
    if (unread_signal_deadline != Lease::kNever) {  // the agent died before it read the request
        ended_by = unread_signal;
        return false;
    }
    agent_deaths = base::Clock::now() - agent_began < kSoonDead ? agent_deaths + 1 : 1;
    return agent_deaths <= kSoonDeadInARow;
}

/// Kills first and prints last: a stderr without a reader must not keep workers alive.
void Guard::clean_up_after_agent(bool returns) {
    const bool in_order = WIFEXITED(status) && !agent_is_left();
    const bool none_lives = kill_workers();
    if (returns) goodbye = returning_goodbye;
    close_connection(none_lives);
    if (!in_order && modes) {  // a worker may have changed the terminal's modes
        tcsetpgrp(STDIN_FILENO, getpgrp());
        tcsetattr(STDIN_FILENO, TCSANOW, modes);
    }
    print_last_text();
}

/// Whether an unread signal requests the end. It stays unread: a restarted agent, too, must end by the signal.
bool Guard::is_asked_to_end() const {
    sigset_t pending;
    return sigpending(&pending) == 0 && end_signal_in(pending) != 0;
}

void Guard::print_last_text() {
    const base::Time begin = base::Clock::now();
    print_within(STDERR_FILENO, last_text(), [this, begin] {
        const bool is_late = (agent_ends && waited_for_console) || is_asked_to_end();
        return base::Clock::now() < begin + (is_late ? kMayTakeToPrintLate : kMayTakeToPrint);
    });
}

/// An agent that exits in order has removed its folders. Sweeps spare the child: a disk may block it for long.
pid_t Guard::begin_removal() {
    if (!agent_was_killed() && !agent_ends) return 0;
    const pid_t child = begin_to_remove(folders, sweeps_shared_memory);
    if (child) spared_children.push_back(child);
    return child;
}

void Guard::forget_agent() {
    if (connection >= 0) close(connection);
    close(socket);
    connection = socket = -1;
    agent = 0;
    agent_ready = agent_ends = waited_for_console = asked_to_stop = false;
    continued = 0;
    clear_deadlines();
    cgroup.clear();
    folders.clear();
    sweeps_shared_memory = false;
    goodbye.clear();
    returning_goodbye.clear();
}

/// Deadlines of an agent that has exited must not shorten patience().
void Guard::clear_deadlines() {
    has_lease = false;
    agent_due = fenced_agent_deadline = unread_signal_deadline = next_leader_check = dead_leader_deadline =
        Lease::kNever;
}

void Guard::turn() {
    pollfd what[] = {{signals, POLLIN, 0}, {socket, POLLIN, 0}, {asked_to_stop ? -1 : stop_requests, POLLIN, 0}};
    poll(what, 3, patience());
    if (what[1].revents & POLLIN) read_messages();
    if ((what[0].revents | what[2].revents) & POLLIN) pass_signals();
    collect();
    look_after_coordinator();
    // The link to a dead agent stays readable. Without this poll() would spin until the agent is reaped.
    if (what[1].revents & (POLLHUP | POLLERR)) socket = -1;
}

/// Runs until the agent has exited.
void Guard::watch_agent() {
    const int link = socket;
    next_leader_check = base::Clock::now() + kFirstLeaderCheck;
    while (agent_alive) {
        turn();
        if (agent_alive) fence();
        if (agent_alive) give_up_frozen_agent();
        if (agent_alive) give_up_remains();
        if (agent_alive) stop_waiting_for_agent();
    }
    socket = link;
    read_messages();  // the agent may have sent its cgroup's name just before its death
    if (agent_was_killed() && !agent_ready && base::asks_to_end(WTERMSIG(status))) ended_by = WTERMSIG(status);
}

/// Runs without an agent until the job is over or the coordinator has given up.
void Guard::watch_coordinator() {
    const int job_status = WEXITSTATUS(status);
    forget_agent();
    end_signal = ended_by;  // the signal came when the agent had exited already
    look_after_coordinator();
    for (pid_t informed = 0; coordinator.is_seated(); turn())
        if (end_signal && coordinator.pid() != informed) {  // a successor, too
            informed = coordinator.pid();
            pass_to_coordinator(end_signal);
        }
    if (coordinator.page().is_over) exit_with(coordinator.page().status);
    if (end_signal) exit_with(exit_status::kSignalBase + end_signal);
    _exit(job_status ? job_status : exit_status::kCoordinatorLost);
}

/// Waits for a coordinator that is delivering the verdict. Else makes the coordinator hand over its claim or, at a
/// fixed endpoint, end the job if a signal requests it; without one kills it. After the death of a front end no node is
/// left that a verdict could reach.
void Guard::end_coordinator() {
    if (!coordinator.is_seated()) return;
    if (starts_nodes && agent_was_killed()) return give_up_coordinator();
    look_after_coordinator();
    const bool is_over = coordinator.page().is_over;
    const bool hands_over = coordinator.page().hands_over;
    const bool ends_job = !is_over && !hands_over && ended_by && agent_ready;
    if (!is_over && hands_over) coordinator.signal(SIGTERM);
    if (ends_job) pass_to_coordinator(ended_by);
    if (!is_over && !hands_over && !ends_job) return give_up_coordinator();
    const base::Time end = base::Clock::now() + (is_over || ends_job ? kDelivery : kHandOver);
    agent_alive = false;
    clear_deadlines();
    while (coordinator.is_seated() && base::Clock::now() < end) {
        pollfd what{signals, POLLIN, 0};
        poll(&what, 1, std::clamp(patience(), 1, 100));
        sigset_t seen;
        sigemptyset(&seen);
        if (drain_signals(seen) && end_signal_in(seen)) break;  // a further request
        collect();
        look_after_coordinator();
    }
    give_up_coordinator();
}

/// A caller may look for processes of the job immediately after the guard's exit.
void Guard::give_up_coordinator() {
    const pid_t killed = coordinator.pid();
    coordinator.give_up();
    wait_for_exit(killed, kMayTakeToExit);
}

/// A shell ends its loop, and systemd takes the service for stopped, only if the process dies of the signal. Returns
/// for a process that no signal kills, the first one of a container. SLURM needs the status: srun drops the last output
/// of a task that a signal has killed.
void Guard::die_if_signalled(int own_status) const {
    const int number = own_status - exit_status::kSignalBase;
    if ((number != SIGINT && number != SIGTERM) || !received.contains(number) || keeps_status) return;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
}

/// The scheduler's other tasks on this node end with the same status, also those that are late.
void Guard::exit_with(int own_status) {
    const base::Time end = base::Clock::now() + (modes ? kTasksMayBeLateOnTerminal : kTasksMayBeLate);
    if (status_listener >= 0)
        deliver_status(status_listener, own_status, task_count,
                       [this, end] { return base::Clock::now() < end && !is_asked_to_end(); });
    die_if_signalled(own_status);
    _exit(own_status);
}

/// An agent that ends in order has written the report itself, and has taken the file back. Written by a child process,
/// because the disk may not answer.
void Guard::write_records() {
    if (last_record < 0 || !write_last_record) return;
    const int signal_status = exit_status::kSignalBase + (ended_by ? ended_by : WTERMSIG(status));
    const int own_status = agent_ends ? announced_status : WIFSIGNALED(status) ? signal_status : WEXITSTATUS(status);
    const std::string reason = last_line();
    const pid_t child = fork();
    if (child == 0) {
        write_last_record(last_record, own_status, reason);
        _exit(0);
    }
    wait_for_exit(std::max(child, 0), kMayTakeToRemove);
}

void Guard::end() {
    clean_up_after_agent(false);
    end_coordinator();
    write_records();
    // Last, because a disk may not answer.
    wait_for_exit(begin_removal(), agent_is_left() ? kMayTakeToRemoveLate : kMayTakeToRemove);
    if (agent_ends) exit_with(announced_status);
    if (!agent_was_killed()) exit_with(WEXITSTATUS(status));
    exit_with(exit_status::kSignalBase + (ended_by ? ended_by : WTERMSIG(status)));
}

}  // namespace dlaunch::agent
