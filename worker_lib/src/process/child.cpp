#include "worker_lib/src/process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <dlaunch/error.hpp>

namespace dlaunch::worker {
namespace {

[[noreturn]] void fail(const char* what) {
    throw Error(ErrorCode::backend, fmt::format("spawn: {}: {}", what, std::strerror(errno)));
}

/// Flushes stdio before a fork: unwritten output would be written by both processes.
void flush() {
    std::cout.flush();
    std::fflush(nullptr);
}

Child prepared() {
    if (std::getenv(kSpawnVariable))  // the child would spawn another child, and so on without end
        throw Error(ErrorCode::invalid_argument,
                    "spawn: this process was itself spawned, and main() did not begin with "
                    "run_if_spawned()");
    struct sigaction action {};
    if (sigaction(SIGCHLD, nullptr, &action) == 0 &&
        (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0))
        throw Error(ErrorCode::backend,
                    "spawn: SIGCHLD is ignored, so the exit status of a process is lost; call std::signal(SIGCHLD, "
                    "SIG_DFL) first");
    Child child;
    const base::UniqueFd file(memfd_create("dlaunch-error", MFD_CLOEXEC));
    if (!file) fail("memfd_create");
    // Avoid descriptors 0 to 2: if the program has closed one of them, its output would go into this file.
    child.error.reset(fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!child.error) fail("dup");
    flush();
    return child;
}

/// Makes the child die with its parent. Runs between fork and exec; async-signal-safe.
void die_with_parent(int parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
}

Child& started(Child& child, int pid) {
    if (pid < 0) fail("fork");
    child.pid = pid;
    child.process.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!child.process && errno == ESRCH)
        throw Error(ErrorCode::backend, std::string("spawn: a process has ended, and ") + kStatusTaken);
    if (!child.process) {
        const int error = errno;
        ::kill(pid, SIGKILL);
        while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
        errno = error;
        fail("pidfd_open");
    }
    return child;
}

bool is_same_file(int fd, const struct stat& expected) {
    struct stat status {};
    return fstat(fd, &status) == 0 && status.st_dev == expected.st_dev && status.st_ino == expected.st_ino;
}

}  // namespace

void run_child(int error_fd, const std::function<void()>& work) {
    struct stat expected {};
    fstat(error_fd, &expected);
    const int parent = getppid();
    std::string text;
    try {
        work();
        flush();
        _exit(0);
    } catch (const std::exception& error) {
        text = error.what();
    } catch (...) {
        text = "an exception of unknown type";
    }
    flush();
    // `work` may have closed all descriptors (as daemons do) and reused the number; the parent still holds the file.
    if (!is_same_file(error_fd, expected)) {
        error_fd = open(fmt::format("/proc/{}/fd/{}", parent, error_fd).c_str(), O_WRONLY | O_CLOEXEC);
        if (!is_same_file(error_fd, expected)) error_fd = -1;
    }
    if (write(error_fd, text.data(), text.size()) < 0) std::fprintf(stderr, "dlaunch: %s\n", text.c_str());
    _exit(1);
}

Child fork_child(const std::function<void()>& work) {
    Child child = prepared();
    const int parent = getpid(), pid = fork();
    if (pid == 0) {
        die_with_parent(parent);
        run_child(child.error.get(), work);
    }
    return std::move(started(child, pid));
}

Child exec_child(const std::string& name, int index, const std::vector<std::string>& args) {
    if (std::getenv(kSpawnVariable))
        throw Error(
            ErrorCode::invalid_argument,
            "spawn: this process was itself spawned and starts others before its function has been called; main() "
            "must call run_if_spawned() first");
    Child child = prepared();
    const std::string mark = fmt::format("{}={} {} {}", kSpawnVariable, index, child.error.get(), name);
    std::vector<char*> words{program_invocation_name}, variables;
    for (const std::string& arg : args) words.push_back(const_cast<char*>(arg.c_str()));
    words.push_back(nullptr);
    for (char** at = environ; *at; ++at) variables.push_back(*at);
    variables.push_back(const_cast<char*>(mark.c_str()));
    variables.push_back(nullptr);
    const int parent = getpid(), pid = fork();
    if (pid == 0) {
        die_with_parent(parent);
        fcntl(child.error.get(), F_SETFD, 0);
        execve("/proc/self/exe", words.data(), variables.data());
        for (const char* part : {"the program cannot be started again: ", strerrordesc_np(errno)})
            if (write(child.error.get(), part, std::strlen(part)) < 0) break;
        _exit(127);
    }
    return std::move(started(child, pid));
}

}  // namespace dlaunch::worker
