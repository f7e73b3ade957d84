// The template process. Its protocol with the agent is described in rendezvous/wire/fork_point.hpp. A worker is the
// result of two forks: the intermediate process exits at once, so that the worker is reparented to the nearest
// subreaper, the agent.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include <dlaunch/error.hpp>
#include <dlaunch/worker.hpp>
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/pass_descriptors.hpp"
#include "rendezvous/base/receive.hpp"
#include "rendezvous/wire/fork_point.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/core/agent_link.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

using base::UniqueFd;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, "fork_point: " + why); }

/// True for a thread that is exiting. It may still be listed in /proc after pthread_join() has returned; the kernel
/// sets PF_EXITING before it wakes the joining thread.
bool has_ended(const std::filesystem::path& task) {
    constexpr unsigned long kExiting = 4;  // PF_EXITING
    std::ifstream file(task / "stat");
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
    std::string other;
    for (int skipped = 0; skipped < 6; ++skipped) fields >> other;  // state, ppid, pgrp, session, tty_nr, tpgid
    unsigned long flags = kExiting;                                 // default: the thread's file is gone already
    fields >> flags;
    return (flags & kExiting) != 0;
}

/// Why a fork of this process would be incomplete; empty: it can be forked.
std::string why_not_forkable() {
    const std::filesystem::directory_iterator none;
    std::error_code ignored;
    int threads = 0;
    for (std::filesystem::directory_iterator at("/proc/self/task", ignored); at != none; ++at)
        if (!has_ended(at->path())) ++threads;
    if (threads > 1) return fmt::format("it has {} threads (a fork has but one of them: start them later)", threads);
    int adopts = 0;
    if (prctl(PR_GET_CHILD_SUBREAPER, &adopts) == 0 && adopts != 0)
        return "it is a child subreaper, so its forks would not become the agent's (prctl PR_SET_CHILD_SUBREAPER "
               "later)";
    for (std::filesystem::directory_iterator at("/proc/self/fd", ignored); at != none; ++at) {
        const std::string target = std::filesystem::read_symlink(at->path(), ignored).string();
        if (target.starts_with("/dev/nvidia"))
            return "it has opened " + target + " (a fork cannot use the GPU: open it later)";
    }
    return {};
}

void reply(int line, wire::ForkMessage::Kind kind, int value) {
    const wire::ForkMessage message{kind, value};
    send(line, &message, sizeof message, MSG_NOSIGNAL);  // an error means that the agent has closed the line
}

bool set_variables(int file) {
    struct stat status {};
    if (fstat(file, &status) != 0) return false;
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t got = pread(file, text.data() + at, text.size() - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += static_cast<std::size_t>(got);
    }
    for (std::size_t at = 0; at < text.size();) {
        const std::string entry = text.c_str() + at;
        const std::size_t equals = entry.find('=');
        setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
        at += entry.size() + 1;
    }
    return true;
}

/// Turns the forked child into a worker: variables, standard streams, session.
void become_worker(int line, pid_t launcher) {
    std::array<UniqueFd, wire::kForkFiles> files;
    const base::Passed passed = base::receive_descriptors(line, files);
    if (passed == base::Passed::nothing) std::_Exit(EXIT_FAILURE);  // the agent has closed the line
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) std::_Exit(EXIT_FAILURE);
    setsid();
    errno = EMFILE;
    bool done = passed == base::Passed::all && set_variables(files[wire::kForkVariables].get());
    for (int target = 0; target < 3 && done; ++target)
        done = dup2(files[static_cast<std::size_t>(target)].get(), target) == target;
    if (!done) {
        reply(line, wire::ForkMessage::Kind::cannot, errno);
        std::_Exit(EXIT_FAILURE);
    }
    if (isatty(STDOUT_FILENO)) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // the template's stdout is no terminal
    worker::renew_error_file();
    reply(line, wire::ForkMessage::Kind::runs, 0);
}

/// Forks a worker. Returns true in the worker; false in the template, after the reply to the agent.
bool make_worker(int line) {
    using Kind = wire::ForkMessage::Kind;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return reply(line, Kind::cannot, errno), false;
    const UniqueFd answer(ends[0]);
    UniqueFd report(ends[1]);
    const pid_t between = fork();
    if (between < 0) return reply(line, Kind::cannot, errno), false;
    if (between == 0) {
        pid_t made = fork();
        if (made == 0) return true;
        if (made < 0) made = -errno;
        std::_Exit(write(report.get(), &made, sizeof made) == sizeof made ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    report.reset();
    pid_t made = 0;
    ssize_t got = 0;
    do got = read(answer.get(), &made, sizeof made);
    while (got < 0 && errno == EINTR);
    // Once the intermediate process has been reaped the worker is a child of the agent.
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) {}
    if (got != sizeof made)
        reply(line, Kind::killed, WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL);
    else
        reply(line, made > 0 ? Kind::made : Kind::cannot, std::abs(made));
    return false;
}

}  // namespace

void fork_point() {
    if (!worker::variable("DLAUNCH_FORK_POINT")) return;
    unsetenv("DLAUNCH_FORK_POINT");
    UniqueFd agent = worker::connect_to_agent();
    if (!agent) refuse(fmt::format("no connection to $DLAUNCH_AGENT_SOCKET: {}", std::strerror(errno)));
    // Unwritten output would be written by every worker.
    std::cout.flush();
    std::fflush(nullptr);
    const std::string reason = why_not_forkable();
    const std::string hello = std::string(wire::kForkPoint) + (reason.empty() ? "" : " " + reason) + "\n";
    if (send(agent.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size()))
        refuse("the launcher has gone");
    char byte = 0;
    if (!reason.empty() && !base::receive_all(agent.get(), &byte, sizeof byte))
        refuse(reason);  // the agent has closed the connection, instead of killing this process

    ucred launcher{};
    socklen_t size = sizeof launcher;
    getsockopt(agent.get(), SOL_SOCKET, SO_PEERCRED, &launcher, &size);
    for (;;) {
        std::array<UniqueFd, 1> line;
        const base::Passed passed = base::receive_descriptors(agent.get(), line);
        if (passed == base::Passed::nothing) std::_Exit(EXIT_SUCCESS);  // the job is over
        if (passed == base::Passed::too_many_open) refuse(std::strerror(EMFILE));
        if (!make_worker(line[0].get())) continue;
        agent.reset();
        return become_worker(line[0].get(), launcher.pid);
    }
}

}  // namespace dlaunch
