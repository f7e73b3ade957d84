#include "agent/group/workers.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace dlaunch::agent {
namespace {

pid_t sleeper() {
    const pid_t pid = fork();
    while (pid == 0) pause();
    return pid;
}

/// The number of the first process stands for one that another process has received meanwhile.
TEST(Orphan, SignalsTheProcessOfItsPidfd) {
    const pid_t other = sleeper(), orphan = sleeper();
    LocalWorkers::Orphan{.pid = other, .pidfd = base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, orphan, 0)))}
        .signal(SIGTERM);
    int how = 0;
    EXPECT_EQ(waitpid(orphan, &how, 0), orphan);
    EXPECT_EQ(WTERMSIG(how), SIGTERM);
    LocalWorkers::Orphan{.pid = other, .pidfd = base::UniqueFd()}.signal(SIGKILL);
    EXPECT_EQ(waitpid(other, &how, 0), other);
    EXPECT_EQ(WTERMSIG(how), SIGKILL) << "the only signal that it received";
}

}  // namespace
}  // namespace dlaunch::agent
