// An agent that no longer responds, as in a debugger or in a page fault on an unresponsive disk: the guard kills the
// agent and exits.
//
// A killed agent with a thread inside a system call on such a disk stays: its main thread is dead, the kernel reports
// the exit only after the last thread, and the workers do not become orphans. Only /proc shows the state.

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "agent/process/guard_process.hpp"
#include "agent/process/proc.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kMayTakeToRead = 5000ms;      // a signal
constexpr auto kMayTakeToReadAgain = 500ms;  // a second signal, while the first is unread
constexpr auto kMayTakeToExit = 300ms;       // after SIGKILL
constexpr auto kLeaderCheck = 1000ms;        // a read of /proc; short, because workers live on until then

/// Whether the peer of the socket has read all messages. A peer that dies discards them: its end is looked at last, as
/// the kernel sets it first.
bool has_read_all(int socket) {
    int bytes = 0;
    pollfd end{socket, 0, 0};
    return socket >= 0 && ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes == 0 && poll(&end, 1, 0) == 0;
}

}  // namespace

/// A responsive agent reads a request immediately; only its effect may be late, because workers have their grace.
void Guard::expect_to_be_read(int number) {
    const bool is_second = unread_signal_deadline != Lease::kNever;
    const base::Time due = base::Clock::now() + (is_second ? kMayTakeToReadAgain : kMayTakeToRead);
    unread_signal_deadline = std::min(unread_signal_deadline, due);
    if (!is_second) unread_signal = number;
}

void Guard::give_up_frozen_agent() {
    const base::Time now = base::Clock::now();
    if (unread_signal_deadline != Lease::kNever && has_read_all(socket)) unread_signal_deadline = Lease::kNever;
    if (fenced_agent_deadline != Lease::kNever && !lease->fenced()) fenced_agent_deadline = Lease::kNever;
    if (agent_ends) return;
    if (now >= unread_signal_deadline) {
        char because[64];
        std::snprintf(because, sizeof because, "SIG%s received", sigabbrev_np(unread_signal));
        return give_up_agent(exit_status::kSignalBase + unread_signal, because);
    }
    if (now < fenced_agent_deadline) return;
    fenced_agent_deadline = Lease::kNever;
    // The guard restarts an agent that was killed if it hosts the coordinator: the node rejoins the job.
    if (coordinator.is_seated())
        kill(agent, SIGKILL);
    else if (const auto verdict = coordinator.verdict())
        give_up_agent(*verdict, "the job is over");
    else
        give_up_agent(exit_status::kCoordinatorLost, "the job was lost");
}

/// Treats the agent as killed when its main thread has died but another thread hangs in a system call. That thread ends
/// with the call.
void Guard::give_up_remains() {
    const base::Time now = base::Clock::now();
    if (agent_ends || now < std::min(next_leader_check, dead_leader_deadline)) return;
    next_leader_check = now + kLeaderCheck;
    const auto main_thread = proc_is_ours() ? stat_of(agent) : std::nullopt;
    if (!main_thread || main_thread->state != 'Z') {
        dead_leader_deadline = Lease::kNever;
        return;
    }
    if (dead_leader_deadline == Lease::kNever) dead_leader_deadline = now + kMayTakeToExit;
    if (now < dead_leader_deadline) return;
    leave_agent(SIGKILL);
}

/// Kills the agent and continues as if it had announced its exit.
void Guard::give_up_agent(int with_status, const char* because) {
    char text[200];
    std::snprintf(text, sizeof text, "%s, but the agent (pid %d) does not respond; every worker was killed", because,
                  agent);
    unread_signal_deadline = Lease::kNever;
    agent_ends = true;
    announced_status = with_status;
    announced_text = text;
    agent_due = base::Clock::now() + kMayTakeToExit;
    kill(agent, SIGKILL);
}

}  // namespace dlaunch::agent
