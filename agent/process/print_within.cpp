#include "agent/process/print_within.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/process/pidfd.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {
namespace {

constexpr int kLookMs = 50;            // between two questions to `may_continue`
constexpr int kMayTakeToExitMs = 100;  // after SIGKILL

}  // namespace

void print_within(int fd, std::string_view text, const std::function<bool()>& may_continue) {
    if (text.empty()) return;
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        base::write_all(fd, text);
        _exit(0);
    }
    const base::UniqueFd ended = open_pidfd(child);
    pollfd ready = child < 0 ? pollfd{fd, POLLOUT, 0} : pollfd{ended.get(), POLLIN, 0};
    int found = 0;
    while (found <= 0 && may_continue()) {
        found = poll(&ready, 1, kLookMs);
        if (child > 0 && waitpid(child, nullptr, WNOHANG) == child) return;  // also where pidfd_open is refused
    }
    if (child < 0) {  // fork failed: a short text does not block after POLLOUT
        if (found > 0) base::write_all(fd, text);
        return;
    }
    kill(child, SIGKILL);
    poll(&ready, 1, kMayTakeToExitMs);
    waitpid(child, nullptr, WNOHANG);  // a child blocked on a disk is left to init
}

}  // namespace dlaunch::agent
