#include "agent/process/children.hpp"

#include <sys/wait.h>

namespace dlaunch::agent {

void Children::remove(pid_t pid) {
    kinds_.erase(pid);
    if (waiting_) reap_others();
}

void Children::expected_is_known() {
    --expected_;
    if (waiting_) reap_others();
}

void Children::reap_others() {
    waiting_ = expected_ > 0;
    while (!waiting_) {
        siginfo_t info{};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
        waiting_ = kinds_.contains(info.si_pid);  // waitid() shows the same child until it is reaped
        if (!waiting_) waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    }
}

std::vector<pid_t> Children::lasting() const {
    std::vector<pid_t> found;
    for (const auto& [pid, kind] : kinds_)
        if (kind == Kind::lasting) found.push_back(pid);
    return found;
}

}  // namespace dlaunch::agent
