#include "agent/process/pidfd.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace dlaunch::agent {

base::UniqueFd open_pidfd(pid_t pid) { return base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

void send_signal(const base::UniqueFd& pidfd, pid_t pid, int number) {
    if (!pidfd || (syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0) != 0 && errno != ESRCH))
        ::kill(pid, number);
}

void wait_for_exit(pid_t child, std::chrono::milliseconds patience) {
    if (child == 0) return;
    const base::UniqueFd ended = open_pidfd(child);
    if (!ended) return;  // refused, as by a seccomp filter: the child ends by itself
    pollfd ready{ended.get(), POLLIN, 0};
    while (poll(&ready, 1, static_cast<int>(patience.count())) < 0 && errno == EINTR) {}
}

}  // namespace dlaunch::agent
