// Runs in the process the user started. Hardly any heap, no library set-up before the agent has ended: what this
// process touches is its own memory for the whole life of the job.

#include "agent/process/guard.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "agent/process/cgroup.hpp"
#include "agent/process/guard_message.hpp"
#include "agent/process/print_within.hpp"
#include "agent/process/signals.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr int kSameRequestMs = 1;
constexpr auto kSweepDeadline = 5000ms;
constexpr auto kAgentMayTake = 300ms;  // from its last message to its end
constexpr auto kMayTakeToPrint = 5000ms;
constexpr auto kFenceDeadline = kSweepDeadline / 2;  // for the cgroup, and then for who is in none

/// What ends an agent that is not ready: it may be waiting for anything, a configuration in a pipe say.
constexpr int kEndAtOnce[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};

/// What an agent that was killed could not remove itself.
void remove_flat_folder(const char* folder) {
    DIR* entries = opendir(folder);
    if (!entries) return;
    while (const dirent* entry = readdir(entries)) unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(folder);
}

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
    [[nodiscard]] bool kill_workers();
    [[nodiscard]] std::string last_text() const;
    [[noreturn]] void end();
};

bool Guard::receive(GuardMessage& message) {
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    if (recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof message)) return false;
    if (message.kind != GuardMessage::Kind::connection) return true;
    if (connection >= 0) close(connection);
    connection = -1;
    const cmsghdr* with = CMSG_FIRSTHDR(&header);
    if (with && with->cmsg_type == SCM_RIGHTS) std::memcpy(&connection, CMSG_DATA(with), sizeof connection);
    goodbye.assign(message.text, std::min(static_cast<std::size_t>(message.size), kLongestGoodbye));
    return true;
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
            case Kind::connection: break;
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
    base::Time due = has_lease ? lease->due() : Lease::kNever;
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
        if (pid != agent) continue;
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

/// True when none lives.
bool Guard::kill_workers() {
    const bool agent_is_left = std::ranges::find(strangers, agent) != strangers.end();
    kill_and_remove_cgroup(cgroup, kSweepDeadline);
    if (agent_is_left) kill_below(agent, kSweepDeadline, [] { return true; });
    return sweep(kSweepDeadline, strangers);
}

std::string Guard::last_text() const {
    if (agent_ends) return announced_text.empty() ? "" : "dlaunch: " + announced_text + "\n";
    if (!WIFSIGNALED(status)) return {};
    char line[160];
    if (ended_by)
        std::snprintf(line, sizeof line, "dlaunch: SIG%s received, ending\n", sigabbrev_np(ended_by));
    else
        std::snprintf(line, sizeof line,
                      "dlaunch: the agent (pid %d) was killed by signal %d (%s); every worker was killed\n", agent,
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    return line;
}

/// Acts first and prints last: nobody may read our stderr, and no worker may live for that.
void Guard::end() {
    read_messages();  // the cgroup may have been announced just before the end
    const bool killed = WIFSIGNALED(status) && !agent_ends;
    if (killed && !agent_ready && std::ranges::find(kEndAtOnce, WTERMSIG(status)) != std::end(kEndAtOnce))
        ended_by = WTERMSIG(status);
    const bool none_lives = kill_workers();
    close_connection(none_lives);
    if (killed && modes) {  // a worker may have had the terminal, in modes of its own
        tcsetpgrp(STDIN_FILENO, getpgrp());
        tcsetattr(STDIN_FILENO, TCSANOW, modes);
    }
    for (const std::string& folder : folders) remove_flat_folder(folder.c_str());
    print_within(kMayTakeToPrint, STDERR_FILENO, last_text());
    if (agent_ends) _exit(announced_status);
    if (!killed) _exit(WEXITSTATUS(status));
    _exit(exit_status::kSignalBase + (ended_by ? ended_by : WTERMSIG(status)));
}

[[noreturn]] void guard_agent(Guard guard) {
    const int socket = guard.socket;
    while (guard.agent_alive) {
        pollfd what[] = {{guard.signals, POLLIN, 0}, {guard.socket, POLLIN, 0}};
        poll(what, 2, guard.patience());
        if (what[1].revents & POLLIN) guard.read_messages();
        if (what[0].revents & POLLIN) guard.pass_signals();
        guard.collect();
        if (guard.agent_alive) guard.fence();
        if (guard.agent_alive) guard.stop_waiting_for_agent();
        // A dead agent's end of the link stays readable: without this the loop would spin until it is reaped.
        if (what[1].revents & (POLLHUP | POLLERR)) guard.socket = -1;
    }
    guard.socket = socket;
    guard.end();
}

Lease* make_lease() {
    void* page = mmap(nullptr, sizeof(Lease), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? nullptr : static_cast<Lease*>(page);
}

}  // namespace

GuardLink fork_from_guard() {
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    const sigset_t taken = taken_signals();
    sigprocmask(SIG_BLOCK, &taken, nullptr);
    // Children of a process that ignores SIGCHLD leave no status; a caller may have left it so.
    signal(SIGCHLD, SIG_DFL);
    become_subreaper();

    int ends[2];
    const pid_t guard = getpid();
    std::vector<pid_t> strangers = descendants();
    termios modes;
    const bool has_terminal = tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetattr(STDIN_FILENO, &modes) == 0;
    Lease* lease = make_lease();
    const bool linked = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
    const pid_t agent = linked ? fork() : -1;
    if (agent < 0) {
        dprintf(2, "dlaunch: cannot start the agent process: %s\n", std::strerror(errno));
        _exit(exit_status::kCannotExecute);
    }
    if (agent > 0) {
        close(ends[1]);
        Guard guarding;
        guarding.socket = ends[0];
        guarding.signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
        guarding.agent = agent;
        guarding.strangers = std::move(strangers);
        guarding.modes = has_terminal ? &modes : nullptr;
        guarding.lease = lease;
        guarding.hangup_ignored = hangup.sa_handler == SIG_IGN;
        guard_agent(std::move(guarding));
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // until GuardLink::ready(), as what follows
    sigset_t ending;
    sigemptyset(&ending);
    for (int number : kEndAtOnce) {
        sigaddset(&ending, number);
        if (number != SIGHUP) signal(number, SIG_DFL);  // ignored in the background of a script, and taken all the same
    }
    sigprocmask(SIG_UNBLOCK, &ending, nullptr);
    if (getppid() != guard) _exit(exit_status::kSignalBase + SIGKILL);
    close(ends[0]);
    // A group of its own: what the terminal or a kill of the group sends reaches the guard alone, once.
    setpgid(0, 0);
    become_subreaper();
    if (lease) new (lease) Lease;  // here: a page that nobody uses is not touched by the guard
    return GuardLink(base::UniqueFd(ends[1]), guard, hangup.sa_handler == SIG_IGN, lease);
}

void keep_standard_files_open() {
    for (int fd = 0; fd < 3; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

}  // namespace dlaunch::agent
