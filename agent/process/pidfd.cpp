#include "agent/process/pidfd.hpp"

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

}  // namespace dlaunch::agent
