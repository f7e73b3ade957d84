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
    } else if (message.kind == GuardMessage::Kind::connection) {
        if (connection >= 0) close(connection);
        connection = descriptors.empty() ? -1 : descriptors.front();
        goodbye.assign(message.text, std::min(static_cast<std::size_t>(message.size), kLongestGoodbye));
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
            case Kind::ready: agent_ready = true; break;
            case Kind::cgroup: cgroup = message.text; break;
            case Kind::folder: folders.emplace_back(message.text); break;
            case Kind::suspended: stop(message.number); break;
            case Kind::lease: has_lease = true; break;
            case Kind::ending:
                agent_ends = true;
                announced_status = message.number;
                announced_text = message.text;
                agent_due = base::Clock::now() + kAgentMayTake;
                break;
            case Kind::signals:
            case Kind::connection:
            case Kind::coordinator: break;
        }
    }
}

/// Stops the whole process group by the signal itself: the kernel ignores it if no shell could continue the group.
void Guard::stop(int by) {
    sigset_t stop_signal, pending;
    sigemptyset(&stop_signal);
    sigaddset(&stop_signal, by);
    signal(by, SIG_DFL);
    kill(0, by);
    sigprocmask(SIG_UNBLOCK, &stop_signal, nullptr);  // stopped here until SIGCONT
    sigprocmask(SIG_BLOCK, &stop_signal, nullptr);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1) return;
    GuardMessage message;
    sigaddset(&message.set, SIGCONT);
    send_to_agent(message);
}

void Guard::send_to_agent(const GuardMessage& message) {
    send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
    kill(agent, SIGCONT);  // a stopped agent must receive the message, too
}

/// The time-out for poll(): until the lease, the coordinator or the announced exit is due.
int Guard::patience() const {
    base::Time due = std::min(has_lease ? lease->due() : Lease::kNever, coordinator.due());
    if (agent_ends) due = std::min(due, agent_due);
    if (due == Lease::kNever) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - base::Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

/// The lease has run out: kills the workers, because other nodes will soon take their places. The agent, which may be
/// frozen, finds the lease fenced when it wakes.
void Guard::fence() {
    if (!has_lease || !lease->expire(base::Clock::now())) return;
    const auto goes_on = [this] { return lease->is_ending(); };
    kill_cgroup(cgroup, kFenceDeadline);
    kill_below(agent, kFenceDeadline, goes_on);
    lease->ended();
}

/// Reads pending signals except SIGCHLD. True: there were some.
bool Guard::drain_signals(sigset_t& seen) {
    bool any = false;
    signalfd_siginfo got{};
    while (read(signals, &got, sizeof got) == static_cast<ssize_t>(sizeof got)) {
        if (got.ssi_signo == SIGCHLD) continue;
        sigaddset(&seen, static_cast<int>(got.ssi_signo));
        any = true;
    }
    return any;
}

/// The first of these signals that must kill an agent before ready(); 0: none.
int Guard::ends_at_once(const sigset_t& seen) const {
    if (agent_ready) return 0;
    for (int number : kEndAtOnce)
        if (sigismember(&seen, number) == 1 && !(number == SIGHUP && hangup_ignored)) return number;
    return 0;
}

void Guard::pass_signals() {
    sigset_t seen;
    sigemptyset(&seen);
    if (!drain_signals(seen)) return;
    // One request may arrive more than once: timeout(1) signals its child and then its group, systemd every process of
    // a unit. The first signal has had no effect yet, so others that arrive within this time belong to the same
    // request.
    poll(nullptr, 0, kSameRequestMs);
    drain_signals(seen);
    if (!agent_alive) {
        for (const int number : kEndAtOnce)
            if (sigismember(&seen, number) == 1 && !(number == SIGHUP && hangup_ignored)) {
                end_signal = number;
                coordinator.signal(number == SIGINT ? SIGINT : SIGTERM);
            }
        return;
    }
    read_messages();
    if (const int number = ends_at_once(seen)) {
        ended_by = number;
        kill(agent, SIGKILL);
        return;
    }
    send_to_agent({GuardMessage::Kind::signals, seen, 0, {}});
}

/// Reaps the agent, the coordinator, and orphans.
void Guard::collect() {
    int how = 0;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) {
        std::replace(strangers.begin(), strangers.end(), pid, pid_t{0});  // the pid may be reused now
        if (coordinator.reaped(pid, how) || pid != agent) continue;
        status = how;
        agent_alive = false;
    }
}

/// Gives up an agent that has announced its exit but does not exit: its status is known.
void Guard::stop_waiting_for_agent() {
    if (!agent_ends || base::Clock::now() < agent_due) return;
    kill(agent, SIGKILL);  // takes effect when the system call returns
    strangers.push_back(agent);
    agent_alive = false;
    status = announced_status << 8;
}

}  // namespace dlaunch::agent
