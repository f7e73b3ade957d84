"""A C++ program that calls dlaunch::fork_point() and misbehaves around it as its first argument specifies.

It notes "prepared" once for each template and "worker.RANK" for each worker. What happens `once` does so once in a test.
"""

import pytest

from linked import linked
from processes import until

PROGRAM = r"""
#include <dlaunch/dlaunch.hpp>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

std::string how;
std::string folder = std::getenv("SEEN");
std::string text(const char* name) { return std::getenv(name) ? std::getenv(name) : "-"; }
void note(const std::string& name, const std::string& words) { std::ofstream(folder + "/" + name, std::ios::app) << words << '\n'; }
bool once() { return open((folder + "/once").c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0; }
void wait_for(const char* name) { while (access((folder + "/" + name).c_str(), F_OK) != 0) usleep(1000); }

// Of SIGTERM, which it does not heed until it makes a worker.
sigset_t held() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    return set;
}
void before_a_fork() {
    const sigset_t set = held();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    if (how == "template-dies-later" && unlink((folder + "/again").c_str()) == 0) raise(SIGKILL);
}
void stay_until_stopped() {
    const sigset_t set = held();
    sigprocmask(SIG_BLOCK, &set, nullptr);
    note("stays", "");
    sigset_t pending;
    do usleep(1000), sigpending(&pending);
    while (!sigismember(&pending, SIGTERM));
}

// Two forks make a worker: depth 1 is between the worker and the template, a child of the agent.
int depth = 0;
pid_t agent = getppid();
void in_the_child() {
    ++depth;
    if (how == "worker-dies" && depth == 2 && once()) raise(SIGKILL);
    if (how == "between-dies" && depth == 1 && once()) raise(SIGKILL);
    if (how == "template-dies" && depth == 1 && once()) kill(getppid(), SIGKILL);
    if (how == "template-stops" && depth == 1 && once()) kill(getppid(), SIGSTOP);
    if (how == "agent-stops" && depth == 1 && once()) kill(agent, SIGSTOP);
}
extern "C" pid_t fork() {
    if (how == "no-process" || (how == "no-process-once" && once())) return errno = EAGAIN, -1;
    return reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"))();
}

void prepare() {
    note("prepared", std::to_string(getpid()) + " " + text("RANK"));
    note("socket", text("DLAUNCH_AGENT_SOCKET"));
    std::printf("written once\n");
    std::fprintf(stderr, "warned once\n");
    if (how == "throws") throw std::runtime_error("no such table");
    if (how == "ends") std::exit(3);
    if (how == "ends-once" && once()) std::exit(3);
    if (how == "ends-well") std::exit(0);
    if (how == "crashes") std::abort();
    if (how == "stays") pause();
    if (how == "deaf" && std::signal(SIGTERM, SIG_IGN) != SIG_ERR) note("deaf", ""), pause();
    if (how == "stops-well") {
        std::signal(SIGTERM, [](int) { note("caught", "SIGTERM"); std::_Exit(0); });
        note("traps", "");
        pause();
    }
    if (how == "late" && once()) stay_until_stopped();
    if (how == "ends-after-late" && access((folder + "/ended").c_str(), F_OK) != 0) {
        wait_for("stays");
        note("ended", "");
        std::exit(3);
    }
    if (how == "threads") std::thread([] { pause(); }).detach();
    if (how == "joined") {
        std::vector<std::thread> threads;
        for (int i = 0; i < 100; ++i) threads.emplace_back([] {});
        for (auto& thread : threads) thread.join();
    }
    if (how == "daemon" && fork() == 0) {
        setsid();
        if (fork() == 0) note("daemon", std::to_string(getpid())), pause();
        _exit(0);
    }
    if (how == "daemon") wait_for("daemon");
    if (how == "closes") closefrom(3);
    if (how == "subreaper") prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (how == "no-descriptors" || how == "few-descriptors") {
        int last = 0;
        for (int made; (made = open("/dev/null", O_RDONLY)) >= 0;) last = made;
        if (how == "few-descriptors") closefrom(last - 3);
    }
    pthread_atfork(before_a_fork, nullptr, in_the_child);
}

int work(int argc, char** argv) {
    how = argc > 1 ? argv[1] : "";
    const int prepared = getpid();
    prepare();
    if (how == "joined")
        for (int i = 0; i < 100; ++i) std::thread([] {}).join();
    std::string much(how == "waits, heavy" ? 300 << 20 : 0, 'x');  // takes time to die
    dlaunch::fork_point();
    std::string().swap(much);
    const std::string rank = text("RANK"), round = text("TORCHELASTIC_RESTART_COUNT");
    note("worker." + rank, round + " " + std::to_string(prepared) + " " + std::to_string(getppid()) + " " +
                               std::to_string(getsid(0) == getpid()) + " " + text("DLAUNCH_FORK_POINT"));
    std::printf("rank %s of %s\n", rank.c_str(), text("WORLD_SIZE").c_str());
    if (how == "sums") {
        dlaunch::init_process_group();
        int sum = dlaunch::get_rank() + 1;
        dlaunch::all_reduce(sum);
        std::printf("sum %d\n", sum);
    }
    if (how == "fails" && rank == "1" && round == "0") throw std::runtime_error("not this time");
    if (how == "fails" && round == "0") pause();
    if (how == "template-dies-later" && rank == "0" && round == "0") {
        wait_for("worker.1"), wait_for("worker.2");  // this round needs the template no more
        return note("again", ""), 1;
    }
    if (how == "fails-always" && std::stoi(round) < 20) return 1;
    if (how == "kills-template" && round == "0") kill(prepared, SIGKILL), raise(SIGKILL);
    if (how == "segfaults") raise(SIGSEGV);
    if (how.starts_with("waits")) {
        note(rank + ".part", std::to_string(getpid()));
        std::rename((folder + "/" + rank + ".part").c_str(), (folder + "/" + rank + ".ready").c_str());  // whole
        pause();
    }
    if (how == "reads") {
        char word[100] = {};
        std::printf("read %s\n", read(0, word, 99) > 0 ? word : "nothing");
    }
    return how == "code" ? 40 + std::atoi(rank.c_str()) : 0;
}
int main(int argc, char** argv) { return dlaunch::record(argc, argv, work); }
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    return linked(tmp_path_factory.mktemp("program") / "program", PROGRAM)


def lines(path):
    return [line.split() for line in path.read_text().splitlines()]


def templates(seen):
    """The pids of all started workers, once there is at least one."""
    return until(lambda: (seen / "prepared").exists() and [int(pid) for pid, _ in lines(seen / "prepared")], 20, "a template")


def first_message(result):
    """The first line of dlaunch's own messages."""
    return next(line for line in result.err.splitlines() if line.startswith("dlaunch: "))
