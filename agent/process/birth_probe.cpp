#include "agent/process/birth_probe.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace dlaunch::agent {

BirthProbe::BirthProbe(int cgroup) {
    orders_.parent = -1;  // never the real parent: the child exits at its first step
    const Cloned made = clone_child(&orders_, stack_.get(), cgroup);
    pidfd_ = base::UniqueFd(made.pidfd);
    born_inside_ = made.pid >= 0 && made.in_cgroup;
}

BirthProbe::~BirthProbe() {
    await_child(&orders_);
    // The registry of children may have reaped the child already.
    siginfo_t end{};
    while (pidfd_ && waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &end, WEXITED) != 0 && errno == EINTR) {}
}

bool BirthProbe::succeeded() {
    await_child(&orders_);
    return born_inside_ && orders_.step == SpawnStep::parent_died;
}

}  // namespace dlaunch::agent
