// What agent and template say to each other stands in agent/process/template.hpp. Two forks make a worker: its parent
// ends at once, so that the worker becomes a child of the nearest subreaper, the agent.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>

#include <dlaunch/error.hpp>
#include <dlaunch/worker.hpp>
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/receive.hpp"
#include "worker_lib/src/core/agent_link.hpp"
#include "worker_lib/src/meeting/environment.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

using base::UniqueFd;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorCode::invalid_argument, "fork_point: " + why); }

/// Why a copy of this process would not be whole; empty: it would.
std::string why_not() {
    const std::filesystem::directory_iterator none;
    std::error_code ignored;
    int threads = 0;
    for (std::filesystem::directory_iterator at("/proc/self/task", ignored); at != none; ++at) ++threads;
    if (threads > 1) return fmt::format("it has {} threads, and a fork has but one of them", threads);
    for (std::filesystem::directory_iterator at("/proc/self/fd", ignored); at != none; ++at) {
        const std::string target = std::filesystem::read_symlink(at->path(), ignored).string();
        if (target.starts_with("/dev/nvidia")) return "it has opened " + target + ", and a fork cannot use the GPU";
    }
    return {};
}

struct Order {
    std::string variables;
    std::array<UniqueFd, 3> files;
    UniqueFd agent;  ///< the worker's own line
    pid_t parent = 0;
};

bool take_order(int socket, Order& order) {
    std::array<int, 4> descriptors{};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)];
    std::uint32_t length = 0;
    iovec bytes{&length, sizeof length};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = 0;
    do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (got != sizeof length || !head || head->cmsg_len != CMSG_LEN(sizeof descriptors)) return false;
    std::memcpy(descriptors.data(), CMSG_DATA(head), sizeof descriptors);
    for (std::size_t i = 0; i < 3; ++i) order.files[i].reset(descriptors[i]);
    order.agent.reset(descriptors[3]);
    order.variables.resize(length);
    return base::receive_all(socket, order.variables.data(), length);
}

/// In the worker, of which the agent knows by now.
void become_worker(Order& order) {
    char byte = 0;
    if (!base::receive_all(order.agent.get(), &byte, 1)) _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != order.parent) _exit(1);
    setsid();
    for (int target = 0; target < 3; ++target)
        if (dup2(order.files[static_cast<std::size_t>(target)].get(), target) < 0) _exit(1);
    for (std::size_t at = 0; at < order.variables.size();) {
        const std::string entry = order.variables.c_str() + at;
        const std::size_t equals = entry.find('=');
        setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
        at += entry.size() + 1;
    }
    worker::renew_error_file();
    if (send(order.agent.get(), &byte, 1, MSG_NOSIGNAL) != 1) _exit(1);
}

/// The worker's pid, or -errno; 0 in the worker itself.
pid_t make_worker() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    const UniqueFd answer(ends[0]);
    UniqueFd tell(ends[1]);
    const pid_t between = fork();
    if (between < 0) return -errno;
    if (between == 0) {
        pid_t made = fork();
        if (made == 0) return 0;
        if (made < 0) made = -errno;
        _exit(write(tell.get(), &made, sizeof made) == sizeof made ? 0 : 1);
    }
    tell.reset();
    pid_t made = 0;
    ssize_t got = 0;
    do got = read(answer.get(), &made, sizeof made);
    while (got < 0 && errno == EINTR);
    // Whom the process between us has left is the agent's from here on.
    while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {}
    return got == sizeof made ? made : -ECHILD;
}

}  // namespace

void fork_point() {
    if (!worker::variable("DLAUNCH_FORK_POINT")) return;
    unsetenv("DLAUNCH_FORK_POINT");
    UniqueFd agent = worker::connect_to_agent();
    if (!agent) refuse("the launcher does not answer at $DLAUNCH_AGENT_SOCKET");
    const std::string reason = why_not();
    const std::string word = "fork point" + (reason.empty() ? "" : " " + reason) + "\n";
    if (send(agent.get(), word.data(), word.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(word.size()))
        refuse("the launcher has gone");
    if (!reason.empty()) {
        char none = 0;
        recv(agent.get(), &none, 1, 0);  // until it hangs up: our end must not be seen before what we said
        refuse(reason);
    }

    ucred launcher{};
    socklen_t size = sizeof launcher;
    getsockopt(agent.get(), SOL_SOCKET, SO_PEERCRED, &launcher, &size);
    // What has been printed but not written would be written by every worker.
    std::cout.flush();
    std::fflush(nullptr);
    for (;;) {
        Order order;
        order.parent = launcher.pid;
        if (!take_order(agent.get(), order)) _exit(0);  // the job is over
        const pid_t made = make_worker();
        if (made == 0) {
            agent.reset();
            return become_worker(order);
        }
        if (send(agent.get(), &made, sizeof made, MSG_NOSIGNAL) != sizeof made) _exit(0);
    }
}

}  // namespace dlaunch
