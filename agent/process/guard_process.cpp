// Runs in the process that the user started. Uses hardly any heap and no libraries while the agent lives: every page
// that this process touches stays private memory for the whole job.

#include "agent/process/guard_process.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>

#include "agent/process/cgroup.hpp"
#include "agent/process/guard.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/end_signals.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr int kSameRequestMs = 1;
constexpr auto kAgentMayTake = 300ms;  // from `ending` to its exit
constexpr std::size_t kMostDescriptors = 2 + base::CoordinatorSeat::kMostListeners;
constexpr auto kFenceDeadline = 2500ms;  // for the cgroup, and again for processes outside

}  // namespace

bool Guard::receive(GuardMessage& message) {
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    if (recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof message)) return false;
    int descriptors[kMostDescriptors];
    std::size_t count = 0;
    if (const cmsghdr* with = CMSG_FIRSTHDR(&header); with && with->cmsg_type == SCM_RIGHTS) {
        count = (with->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(descriptors, CMSG_DATA(with), count * sizeof(int));
    }
    take_descriptors(message, {descriptors, count});
    return true;
}

void Guard::take_descriptors(const GuardMessage& message, std::span<const int> descriptors) {
    if (message.kind == GuardMessage::Kind::coordinator) {
        coordinator.seat(descriptors);
        only_coordinator = message.number == 1;
    } else if (message.kind == GuardMessage::Kind::status_socket && !descriptors.empty()) {
        status_listener = descriptors.front();
        task_count = message.number;
    } else if (message.kind == GuardMessage::Kind::last_record) {
        if (last_record >= 0) close(last_record);
        last_record = descriptors.empty() ? -1 : descriptors.front();
    } else if (message.kind == GuardMessage::Kind::connection) {
        if (connection >= 0) close(connection);
        connection = descriptors.empty() ? -1 : descriptors.front();
        const auto both = std::min(static_cast<std::size_t>(message.size), 2 * kLongestGoodbye);
        goodbye.assign(message.text, both / 2);
        returning_goodbye.assign(message.text + both / 2, both - both / 2);
    }
}

void Guard::close_connection(bool none_lives) {
    char unread[1024];
    if (connection < 0) return;
    if (none_lives) send(connection, goodbye.data(), goodbye.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (recv(connection, unread, sizeof unread, MSG_DONTWAIT) > 0) {}
    shutdown(connection, SHUT_WR);
}

void Guard::read_messages() {
    using Kind = GuardMessage::Kind;
    GuardMessage message;
    while (receive(message)) {
        message.text[sizeof message.text - 1] = 0;
        switch (message.kind) {
            case Kind::ready:
                agent_ready = true;
                keeps_status = message.number != 0;
                break;
            case Kind::cgroup: cgroup = message.text; break;
            case Kind::folder: folders.emplace_back(message.text); break;
            case Kind::shared_memory: sweeps_shared_memory = true; break;
            case Kind::nodes: starts_nodes = true; break;
            case Kind::suspended:
                if (message.continued == continued) stop(message.number);
                break;
            case Kind::lease:
                has_lease = true;
                rejoin = std::chrono::milliseconds(message.number);
                break;
            case Kind::ending:
                agent_ends = true;
                announced_status = message.number;
                announced_text = message.text;
                waited_for_console = message.waited_for_console;
                agent_due = base::Clock::now() + kAgentMayTake;
                break;
            case Kind::received: received.insert(message.number); break;
            case Kind::no_more_hosts: coordinator.no_more_hosts(); break;
            case Kind::signals:
            case Kind::connection:
            case Kind::coordinator:
            case Kind::last_record:
            case Kind::status_socket: break;
        }
    }
}

/// Stops the whole process group by the signal itself: the kernel ignores it if no shell could continue the group.
void Guard::stop(int by) {
    sigset_t stop_signal, pending;
    sigemptyset(&stop_signal);
    sigaddset(&stop_signal, by);
    signal(by, SIG_DFL);
    if (by != SIGTSTP || !asked_to_stop) kill(0, by);
    asked_to_stop = false;
    sigprocmask(SIG_UNBLOCK, &stop_signal, nullptr);  // stopped here until SIGCONT
    sigprocmask(SIG_BLOCK, &stop_signal, nullptr);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1) return;
    GuardMessage message;
    sigaddset(&message.set, SIGCONT);
    ++continued;
    send_to_agent(message);
}

void Guard::send_to_agent(const GuardMessage& message) {
    send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
    kill(agent, SIGCONT);  // a stopped agent must receive the message, too
}

/// The time-out for poll(): until the deadline of the lease, the coordinator, an announced exit or a stalled agent.
int Guard::patience() const {
    base::Time due = std::min(
        {has_lease ? lease->due() : Lease::kNever, coordinator.due(), fenced_agent_deadline, unread_signal_deadline});
    due = std::min(due, agent_ends ? agent_due : std::min(next_leader_check, dead_leader_deadline));
    if (due == Lease::kNever) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - base::Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

/// When the lease has run out: kills the workers, because other nodes may soon run the same ranks. A frozen agent finds
/// the lease fenced when it wakes.
void Guard::fence() {
    if (!has_lease || !lease->expire(base::Clock::now())) return;
    kill_cgroup(cgroup, kFenceDeadline);
    kill_below(agent, kFenceDeadline, [this] { return lease->is_ending(); });
    lease->ended();
    fenced_agent_deadline = base::Clock::now() + rejoin;
}

/// Reads pending signals except SIGCHLD; false: none were pending.
/// The parent of a front end's node is its relay, which passes its signals on. A scheduler signals both, and may need
/// longer to reach the agent: until then the agent takes a second signal from here for a second request.
bool Guard::drain_signals(sigset_t& seen) {
    bool any = false;
    signalfd_siginfo got{};
    while (read(signals, &got, sizeof got) == static_cast<ssize_t>(sizeof got)) {
        const int number = static_cast<int>(got.ssi_signo);
        if (number == SIGCHLD) continue;
        const bool is_relayed = static_cast<pid_t>(got.ssi_pid) == getppid();
        if (!host.empty() && copies.is_copy(number, is_relayed, base::Clock::now())) continue;
        sigaddset(&seen, number);
        received.insert(number);
        any = true;
    }
    return any;
}

/// A SIGTSTP is pending of which the agent does not know.
bool Guard::has_stop_request() const {
    sigset_t pending;
    return !asked_to_stop && sigpending(&pending) == 0 && sigismember(&pending, SIGTSTP) == 1;
}

/// Of SIGTSTP and SIGCONT the later one counts, as in the kernel.
void Guard::take_stop_request(sigset_t& seen) {
    if (sigismember(&seen, SIGCONT) == 1) asked_to_stop = false;
    if (!has_stop_request()) return;
    sigaddset(&seen, SIGTSTP);
    sigdelset(&seen, SIGCONT);
    signalfd_siginfo got{};
    const bool can_stop = agent_alive && !starts_nodes;
    asked_to_stop = can_stop || read(stop_requests, &got, sizeof got) < 0;
}

/// The first of these signals that requests the end of the job; 0: none does.
int Guard::end_signal_in(const sigset_t& seen) const {
    for (const int number : base::kEndSignals)
        if (sigismember(&seen, number) == 1 && !(number == SIGHUP && hangup_ignored)) return number;
    return 0;
}

void Guard::pass_signals() {
    sigset_t seen;
    sigemptyset(&seen);
    if (!drain_signals(seen) && !has_stop_request()) return;
    // One request may arrive more than once: timeout(1) signals its child and then its group, systemd every process of
    // a unit. The first signal has had no effect yet, so signals that arrive within this time belong to the same
    // request.
    poll(nullptr, 0, kSameRequestMs);
    drain_signals(seen);
    take_stop_request(seen);
    if (sigisemptyset(&seen)) return;
    const int number = end_signal_in(seen);
    if (!agent_alive) {
        if (number && end_signal) pass_to_coordinator(number);  // watch_coordinator() passes the first one
        if (number) end_signal = number;
        return;
    }
    if (sigismember(&seen, SIGCONT) == 1) ++continued;  // before a message of an earlier suspension is read
    read_messages();
    if (number && !agent_ready) {
        ended_by = number;
        kill(agent, SIGKILL);
        return;
    }
    send_to_agent({.kind = GuardMessage::Kind::signals, .set = seen});
    if (number) expect_to_be_read(number);
}

/// Reaps the agent, the coordinator, and orphans.
void Guard::collect() {
    int how = 0;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) {
        std::replace(spared_children.begin(), spared_children.end(), pid, pid_t{0});  // the pid may be reused now
        if (coordinator.reaped(pid, how) || pid != agent) continue;
        status = how;
        agent_alive = false;
    }
}

/// Gives up an agent that has announced its exit but does not exit; the announced status counts.
void Guard::stop_waiting_for_agent() {
    if (!agent_ends || base::Clock::now() < agent_due) return;
    kill(agent, SIGKILL);  // takes effect when the system call returns
    leave_agent(announced_status << 8);
}

/// Continues without an agent that cannot be reaped yet. `with_status`: as of waitpid().
void Guard::leave_agent(int with_status) {
    spared_children.push_back(agent);
    agent_alive = false;
    status = with_status;
}

}  // namespace dlaunch::agent
