#include "agent/process/children.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace dlaunch::agent {
namespace {

/// A child that has ended with `status` and is not reaped.
pid_t dead_child(int status) {
    const pid_t pid = fork();
    if (pid == 0) _exit(status);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    return pid;
}

int status_of(pid_t pid) {
    int status = 0;
    return waitpid(pid, &status, WNOHANG) == pid ? WEXITSTATUS(status) : -1;
}

TEST(Children, unregistered_children_are_reaped) {
    Children children;
    const pid_t unregistered = dead_child(3);
    children.reap_others();
    EXPECT_EQ(status_of(unregistered), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(Children, a_registered_child_keeps_its_status_for_its_owner) {
    Children children;
    const pid_t helper = dead_child(3);
    children.add(helper, Children::Kind::lasting);
    const pid_t unregistered = dead_child(4);
    children.reap_others();
    EXPECT_EQ(status_of(helper), 3);
    children.remove(helper);
    EXPECT_EQ(status_of(unregistered), -1) << "it waited behind the helper";
}

TEST(Children, none_is_reaped_while_a_pid_is_unknown) {
    Children children;
    children.expect();
    const pid_t fork_of_a_template = dead_child(5);
    children.reap_others();
    EXPECT_EQ(status_of(fork_of_a_template), 5);
    const pid_t unregistered = dead_child(6);
    children.expected_is_known();
    EXPECT_EQ(status_of(unregistered), -1);
}

TEST(Children, lasting_children_are_listed_until_removed) {
    Children children;
    children.add(7, Children::Kind::worker);
    children.add(9, Children::Kind::lasting);
    EXPECT_EQ(children.lasting(), std::vector<pid_t>{9});
    children.remove(9);
    EXPECT_TRUE(children.lasting().empty());
}

}  // namespace
}  // namespace dlaunch::agent
