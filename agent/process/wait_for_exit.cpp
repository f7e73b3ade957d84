#include "agent/process/wait_for_exit.hpp"

#include <poll.h>

#include <cerrno>

#include "agent/process/pidfd.hpp"

namespace dlaunch::agent {

void wait_for_exit(pid_t child, std::chrono::milliseconds patience) {
    if (child == 0) return;
    const base::UniqueFd ended = open_pidfd(child);
    if (!ended) return;  // refused, as by a seccomp filter: the child ends by itself
    pollfd ready{ended.get(), POLLIN, 0};
    while (poll(&ready, 1, static_cast<int>(patience.count())) < 0 && errno == EINTR) {}
}

}  // namespace dlaunch::agent
