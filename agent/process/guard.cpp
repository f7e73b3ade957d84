#include "agent/process/guard.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "agent/process/guard_process.hpp"
#include "agent/process/signals.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/end_signals.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

Lease* make_lease() {
    void* page = mmap(nullptr, sizeof(Lease), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? nullptr : static_cast<Lease*>(page);
}

int open_signals(const sigset_t& taken) {
    const int signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals >= 0) return signals;
    const bool is_refused = errno == EPERM || errno == ENOSYS;
    dprintf(2, "dlaunch: cannot receive signals: signalfd: %s%s\n", std::strerror(errno),
            is_refused ? "; allow this system call in the container's seccomp filter" : "");
    _exit(exit_status::kCannotExecute);
}

}  // namespace

GuardLink fork_from_guard(CoordinatorMain coordinator_main, std::string_view host, LastRecordWriter write_last_record) {
    struct sigaction hangup {};
    sigaction(SIGHUP, nullptr, &hangup);
    const sigset_t taken = taken_signals();
    sigprocmask(SIG_BLOCK, &taken, nullptr);
    // A caller may have ignored SIGCHLD; children would then leave no exit status.
    signal(SIGCHLD, SIG_DFL);
    become_subreaper();

    int ends[2];
    const pid_t guard = getpid();
    termios modes;
    const bool has_terminal = tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetattr(STDIN_FILENO, &modes) == 0;
    Guard guarding;
    guarding.spared_children = descendants();
    sigset_t stops, others = taken;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigdelset(&others, SIGTSTP);
    guarding.signals = open_signals(others);
    guarding.stop_requests = open_signals(stops);
    guarding.host = host;
    guarding.write_last_record = write_last_record;
    guarding.modes = has_terminal ? &modes : nullptr;
    guarding.lease = make_lease();
    guarding.hangup_ignored = hangup.sa_handler == SIG_IGN;
    guarding.coordinator = CoordinatorChild(coordinator_main);
    for (;;) {
        const bool linked = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
        guarding.agent = linked ? fork() : -1;
        if (guarding.agent == 0) break;
        if (guarding.agent < 0) {
            dprintf(2, "dlaunch: cannot start the agent process: %s\n", std::strerror(errno));
            _exit(exit_status::kCannotExecute);
        }
        close(ends[1]);
        guarding.socket = ends[0];
        guarding.agent_alive = true;
        guarding.agent_began = base::Clock::now();
        guarding.watch_agent();
        if (guarding.only_coordinator && !guarding.agent_was_killed()) guarding.watch_coordinator();
        if (!guarding.starts_agent_again()) guarding.end();
        guarding.clean_up_after_agent(true);
        guarding.begin_removal();
        guarding.forget_agent();
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // until GuardLink::ready(), like the following settings
    sigset_t ending;  // before ready() they kill the agent, which may be blocked, as on a configuration in a pipe
    sigemptyset(&ending);
    for (const int number : base::kEndSignals) {
        sigaddset(&ending, number);
        if (number != SIGHUP) signal(number, SIG_DFL);  // SIGINT and SIGQUIT are ignored in a script's background job
    }
    sigprocmask(SIG_UNBLOCK, &ending, nullptr);
    if (getppid() != guard) _exit(exit_status::kSignalBase + SIGKILL);
    prctl(PR_SET_NAME, "dlaunch-agent");
    close(ends[0]);
    close(guarding.signals);
    close(guarding.stop_requests);
    for (const int kept : {guarding.status_listener, guarding.last_record})
        if (kept >= 0) close(kept);
    const bool hosts = guarding.coordinator.is_seated();
    base::UniqueFd record(hosts ? fcntl(guarding.coordinator.record(), F_DUPFD_CLOEXEC, 0) : -1);
    guarding.coordinator.close_descriptors();
    // A process group of its own: signals to the group reach only the guard, once.
    setpgid(0, 0);
    become_subreaper();
    Lease* lease = guarding.lease;
    if (lease) new (lease) Lease;  // here and not in the guard: saves the guard a page
    return GuardLink(base::UniqueFd(ends[1]), guard, hangup.sa_handler == SIG_IGN, lease, hosts, std::move(record));
}

void keep_standard_files_open() {
    for (int fd = 0; fd < 3; ++fd)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

}  // namespace dlaunch::agent
