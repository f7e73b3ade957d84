#include "agent/process/sweep.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

/// Runs a test's body in a process of its own, a subreaper, because the sweep kills all descendants.
template <class Body>
int in_a_process(Body body) {
    const pid_t pid = fork();
    if (pid == 0) {
        become_subreaper();
        _exit(body() ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Starts a shell script and waits until it has closed the pipe on its fd 9: it is ready then.
pid_t ready_script(const char* script) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 9);
        execl("/bin/sh", "sh", "-c", script, nullptr);
        _exit(127);
    }
    close(ends[1]);
    char byte;
    while (read(ends[0], &byte, 1) > 0) {}
    close(ends[0]);
    return pid;
}

TEST(Sweep, nothing_to_do_is_nothing_done) {
    EXPECT_EQ(in_a_process([] { return descendants().empty() && survey().empty() && sweep(1s); }), 0);
}

TEST(Sweep, finds_grandchildren) {
    EXPECT_EQ(in_a_process([] {
                  ready_script("sleep 600 9>&- & exec 9>&-; sleep 600");
                  const bool found =
                      descendants().size() == 2 || descendants().size() == 3;  // the shell may exec its last command
                  return found && survey().size() >= 2 && sweep(5s) && descendants().empty();
              }),
              0);
}

TEST(Sweep, takes_a_daemon_in_a_session_of_its_own) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t shell = ready_script("(setsid sleep 600 9>&- &) ; exec 9>&-");
                  waitpid(shell, nullptr, 0);
                  const auto left = survey();
                  return sweep(5s) &&
                         std::any_of(left.begin(), left.end(),
                                     [](const Swept& one) {
                                         return one.command == "sleep" || one.command == "setsid" ||
                                                one.command == "sh";
                                     }) &&
                         descendants().empty();
              }),
              0);
}

TEST(Sweep, kills_processes_that_ignore_signals_or_are_stopped) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t stubborn = ready_script("trap '' TERM INT HUP; exec 9>&-; while :; do sleep 600; done");
                  kill(stubborn, SIGSTOP);
                  return survey().size() >= 1 && sweep(5s) && descendants().empty();
              }),
              0);
}

/// Each parent ends at once, so that the sweep may look below a parent that the child has just left.
TEST(Sweep, takes_a_process_that_moves_from_parent_to_parent) {
    EXPECT_EQ(in_a_process([] {
                  for (int times = 0; times < 100; ++times) {
                      if (fork() == 0) {
                          for (int moves = 0; moves < 1000; ++moves)
                              if (fork() != 0) _exit(0);
                          pause();
                      }
                      if (!sweep(10s) || waitpid(-1, nullptr, WNOHANG) != -1) return false;
                  }
                  return true;
              }),
              0);
}

TEST(Sweep, spares_the_given_children_and_their_descendants) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t foreign = ready_script("sleep 600 9>&- & exec 9>&-; wait");
                  const pid_t ours = ready_script("exec 9>&-; exec sleep 600");
                  const pid_t spared[] = {foreign};
                  const bool right =
                      sweep(5s, spared) && kill(ours, 0) != 0 && kill(foreign, 0) == 0 && descendants().size() == 2;
                  return sweep(5s) && right && descendants().empty();
              }),
              0);
}

TEST(Sweep, kills_below_a_stopped_process_and_leaves_that_alone) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t stopped = ready_script("sleep 600 9>&- & setsid sleep 600 9>&- & exec 9>&-; wait");
                  kill(stopped, SIGSTOP);
                  const auto yes = [] { return true; };
                  kill_below(stopped, 5s, yes);
                  int status = 0;
                  const bool spared = waitpid(stopped, &status, WUNTRACED) == stopped && WIFSTOPPED(status);
                  const std::vector<pid_t> left = descendants();
                  kill_below(stopped, 1min, yes);  // zombies need no waiting
                  return spared && left.size() >= 2 && sweep(5s);
              }),
              0);
}

TEST(Sweep, kills_none_below_when_it_may_not_continue) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t parent = ready_script("sleep 600 9>&- & exec 9>&-; wait");
                  kill_below(parent, 5s, [] { return false; });
                  const bool lives = survey().size() >= 2;
                  return sweep(5s) && lives;
              }),
              0);
}

TEST(Sweep, reaps_zombies_without_listing_them) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t shell = ready_script("exit 0");
                  siginfo_t info{};
                  waitid(P_PID, static_cast<id_t>(shell), &info, WEXITED | WNOWAIT);
                  return survey().empty() && sweep(1s) && waitpid(shell, nullptr, WNOHANG) == -1;
              }),
              0);
}

TEST(Sweep, kill_descendants_leaves_reaping_to_the_caller) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t shell = ready_script("(setsid sleep 600 >/dev/null 2>&1 9>&- &); exec 9>&-; sleep 600");
                  const std::size_t killed = kill_descendants();
                  siginfo_t info{};
                  waitid(P_PID, static_cast<id_t>(shell), &info, WEXITED | WNOWAIT);
                  const bool keeps_status = info.si_code == CLD_KILLED && info.si_status == SIGKILL;
                  return killed >= 2 && keeps_status && sweep(5s) && kill_descendants() == 0;
              }),
              0);
}

TEST(Sweep, a_zombie_is_not_waited_for) {
    EXPECT_EQ(in_a_process([] {
                  const pid_t parent = ready_script("sleep 0.01 & exec 9>&-; exec sleep 600");
                  const std::vector<pid_t> spared{parent};
                  return kill_descendants(spared) == 0 && sweep(5s);
              }),
              0);
}

}  // namespace
}  // namespace dlaunch::agent
