// Runs in the process the user started. Hardly any heap, no library set-up before the agent has ended: what this
// process touches is its own memory for the whole life of the job.

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
constexpr auto kAgentMayTake = 300ms;  // from its last message to its end
constexpr std::size_t kMostDescriptors = 2 + base::CoordinatorSeat::kMostListeners;
constexpr auto kFenceDeadline = 2500ms;  // for the cgroup, and then for processes outside of it

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

/// By the signal itself, with whatever else the shell knows as this job: the kernel knows whether there is a shell.
void Guard::stop(int by) {
    sigset_t it, pending;
    sigemptyset(&it);
    sigaddset(&it, by);
    signal(by, SIG_DFL);
    kill(0, by);
    sigprocmask(SIG_UNBLOCK, &it, nullptr);  // here we stand until SIGCONT
    sigprocmask(SIG_BLOCK, &it, nullptr);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1) return;
    GuardMessage message;
    sigaddset(&message.set, SIGCONT);
    tell(message);
}

void Guard::tell(const GuardMessage& message) {
    send(socket, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
    kill(agent, SIGCONT);  // whoever stopped the agent must not keep it from hearing this
}

/// For poll(): until the lease is to be looked at, or the agent should have ended.
int Guard::patience() const {
    base::Time due = std::min(has_lease ? lease->due() : Lease::kNever, coordinator.due());
    if (agent_ends) due = std::min(due, agent_due);
    if (due == Lease::kNever) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - base::Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

/// The agent lives, but its workers must not: other nodes count on that soon. It learns of it from the lease.
void Guard::fence() {
    if (!has_lease || !lease->expire(base::Clock::now())) return;
    const auto goes_on = [this] { return lease->is_ending(); };
    kill_cgroup(cgroup, kFenceDeadline);
    kill_below(agent, kFenceDeadline, goes_on);
    lease->ended();
}

/// True when there was anything to pass on.
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

/// For which of these signals the agent is to be killed, because it does not hear us yet. 0: none.
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
    // One request may come more than once: timeout(1) signals its child and then its group, systemd every process of a
    // unit. Nobody has heard of the first one yet, so what comes in this time cannot be an answer to it.
    poll(nullptr, 0, kSameRequestMs);
    drain_signals(seen);
    if (!agent_alive) {
        for (const int number : kEndAtOnce)
            if (sigismember(&seen, number) == 1 && !(number == SIGHUP && hangup_ignored)) {
                told_to_end = number;
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
    tell({GuardMessage::Kind::signals, seen, 0, {}});
}

/// Reaps the agent, and as init whoever else was left to us.
void Guard::collect() {
    int how = 0;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) {
        std::replace(strangers.begin(), strangers.end(), pid, pid_t{0});  // the number is free for others now
        if (coordinator.reaped(pid, how) || pid != agent) continue;
        status = how;
        agent_alive = false;
    }
}

/// An agent that has announced its end and does not come to it: its status is known, and no worker of it lives.
void Guard::stop_waiting_for_agent() {
    if (!agent_ends || base::Clock::now() < agent_due) return;
    kill(agent, SIGKILL);  // it takes effect when the system call returns
    strangers.push_back(agent);
    agent_alive = false;
    status = announced_status << 8;
}

}  // namespace dlaunch::agent
