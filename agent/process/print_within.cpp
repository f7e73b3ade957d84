#include "agent/process/print_within.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {
namespace {

void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR) return;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

void print_within(std::chrono::milliseconds patience, int fd, std::string_view text) {
    if (text.empty()) return;
    const int milliseconds = static_cast<int>(patience.count());
    const pid_t child = fork();
    if (child == 0) {
        write_all(fd, text);
        _exit(0);
    }
    if (child < 0) {  // fork failed: a short text does not block after POLLOUT
        pollfd ready{fd, POLLOUT, 0};
        if (poll(&ready, 1, milliseconds) > 0) write_all(fd, text);
        return;
    }
    const base::UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    pollfd ready{ended.get(), POLLIN, 0};
    while (poll(&ready, 1, milliseconds) < 0 && errno == EINTR) {}
    kill(child, SIGKILL);
    waitpid(child, nullptr, WNOHANG);  // a child blocked on a disk is left to init
}

}  // namespace dlaunch::agent
