// What agent and template say to each other stands in rendezvous/wire/fork_point.hpp. Two forks make a worker: its
// parent ends at once, so that the worker becomes a child of the nearest subreaper, the agent.

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
#include "rendezvous/base/pass_files.hpp"
#include "rendezvous/base/receive.hpp"
#include "rendezvous/wire/fork_point.hpp"
#include "worker_lib/src/core/agent_link.hpp"
#include "worker_lib/src/meeting/environment.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

using base::UniqueFd;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, "fork_point: " + why); }

/// One that has ended may still be seen, even after pthread_join; the kernel marks it before it lets others know.
bool has_ended(const std::filesystem::path& task) {
    constexpr unsigned long kExiting = 4;  // PF_EXITING
    std::ifstream file(task / "stat");
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
    std::string other;
    for (int skipped = 0; skipped < 6; ++skipped) fields >> other;  // state, ppid, pgrp, session, tty_nr, tpgid
    unsigned long flags = kExiting;                                 // of one that has gone meanwhile
    fields >> flags;
    return (flags & kExiting) != 0;
}

/// Why a copy of this process would not be whole; empty: it would.
std::string why_not() {
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

void say(int line, wire::ForkWord::Kind kind, int value) {
    const wire::ForkWord word{kind, value};
    send(line, &word, sizeof word, MSG_NOSIGNAL);  // where that fails nobody waits for it any more
}

bool set_variables(int file) {
    struct stat about {};
    if (fstat(file, &about) != 0) return false;
    std::string text(static_cast<std::size_t>(about.st_size), '\0');
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

/// In the worker.
void become_worker(int line, pid_t launcher) {
    std::array<UniqueFd, wire::kForkFiles> files;
    const base::Passed passed = base::receive_files(line, files);
    if (passed == base::Passed::nothing) std::_Exit(EXIT_FAILURE);  // the launcher gave it up
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launcher) std::_Exit(EXIT_FAILURE);
    setsid();
    errno = EMFILE;
    bool done = passed == base::Passed::all && set_variables(files[wire::kForkVariables].get());
    for (int target = 0; target < 3 && done; ++target)
        done = dup2(files[static_cast<std::size_t>(target)].get(), target) == target;
    if (!done) {
        say(line, wire::ForkWord::Kind::cannot, errno);
        std::_Exit(EXIT_FAILURE);
    }
    if (isatty(STDOUT_FILENO)) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // the template's was none
    worker::renew_error_file();
    say(line, wire::ForkWord::Kind::runs, 0);
}

/// True in the worker. In the template when its line has been told of it.
bool make_worker(int line) {
    using Kind = wire::ForkWord::Kind;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return say(line, Kind::cannot, errno), false;
    const UniqueFd answer(ends[0]);
    UniqueFd tell(ends[1]);
    const pid_t between = fork();
    if (between < 0) return say(line, Kind::cannot, errno), false;
    if (between == 0) {
        pid_t made = fork();
        if (made == 0) return true;
        if (made < 0) made = -errno;
        std::_Exit(write(tell.get(), &made, sizeof made) == sizeof made ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    tell.reset();
    pid_t made = 0;
    ssize_t got = 0;
    do got = read(answer.get(), &made, sizeof made);
    while (got < 0 && errno == EINTR);
    // Whom the process between us has left is the agent's from here on.
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) {}
    if (got != sizeof made)
        say(line, Kind::killed, WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL);
    else
        say(line, made > 0 ? Kind::made : Kind::cannot, std::abs(made));
    return false;
}

}  // namespace

void fork_point() {
    if (!worker::variable("DLAUNCH_FORK_POINT")) return;
    unsetenv("DLAUNCH_FORK_POINT");
    UniqueFd agent = worker::connect_to_agent();
    if (!agent) refuse(fmt::format("no connection to $DLAUNCH_AGENT_SOCKET: {}", std::strerror(errno)));
    // What has been printed but not written would be written by every worker.
    std::cout.flush();
    std::fflush(nullptr);
    const std::string reason = why_not();
    const std::string word = std::string(wire::kForkPoint) + (reason.empty() ? "" : " " + reason) + "\n";
    if (send(agent.get(), word.data(), word.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(word.size()))
        refuse("the launcher has gone");
    char byte = 0;
    if (!reason.empty() && !base::receive_all(agent.get(), &byte, sizeof byte))
        refuse(reason);  // it ends us, or has gone

    ucred launcher{};
    socklen_t size = sizeof launcher;
    getsockopt(agent.get(), SOL_SOCKET, SO_PEERCRED, &launcher, &size);
    for (;;) {
        std::array<UniqueFd, 1> line;
        const base::Passed passed = base::receive_files(agent.get(), line);
        if (passed == base::Passed::nothing) std::_Exit(EXIT_SUCCESS);  // the job is over
        if (passed == base::Passed::no_room) refuse(std::strerror(EMFILE));
        if (!make_worker(line[0].get())) continue;
        agent.reset();
        return become_worker(line[0].get(), launcher.pid);
    }
}

}  // namespace dlaunch
