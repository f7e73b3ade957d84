#include "agent/process/template.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/process/sweep.hpp"
#include "agent/status/socket.hpp"
#include "rendezvous/base/receive.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;

constexpr timeval kPatience{3, 0};  // below a node's time-out: a template that stands still must not cost the node
constexpr auto kSweepDeadline = std::chrono::seconds(5);
constexpr std::size_t kMostReason = 4096;

SpawnError refused(std::string text) { return {std::move(text), 0, true, false, {}}; }
SpawnError failed(std::string step, int number) { return {std::move(step), number, false, false, {}}; }

bool set_patience(int socket) {
    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience) == 0 &&
           setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) == 0;
}

bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

/// The order's head: its length, and the worker's descriptors.
bool send_head(int socket, std::uint32_t length, const std::array<int, 4>& descriptors) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
    iovec bytes{&length, sizeof length};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(head), descriptors.data(), sizeof descriptors);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof length);
}

/// What a worker that executes its program is born with, this one is given before it goes on. A cgroup that takes no
/// processes must not cost it its life.
std::optional<SpawnError> give_place(pid_t pid, const SpawnRequest& request) {
    if (request.cgroup >= 0) {
        const UniqueFd members(openat(request.cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC));
        if (members) dprintf(members.get(), "%d\n", pid);
    }
    if (!request.processors.empty()) {
        const std::vector<unsigned long> mask = affinity_mask(request.processors);
        if (syscall(SYS_sched_setaffinity, pid, mask.size() * sizeof mask.front(), mask.data()) < 0)
            return failed("bind to processors", errno);
    }
    return std::nullopt;
}

std::string how_it_ended(const siginfo_t& info) {
    if (info.si_code == CLD_EXITED) return fmt::format("ended with {}", info.si_status);
    return "was killed by " + base::signal_name(info.si_status);
}

}  // namespace

Template::Template(AgentSocket& socket) : agent_socket_(socket) {
    socket.on_fork_point([this](UniqueFd connection, pid_t peer, std::string said) {
        at_fork_point(std::move(connection), peer, std::move(said));
    });
}

Template::~Template() {
    if (absent()) return;
    end();
    sweep(kSweepDeadline);
}

std::optional<SpawnError> Template::start(SpawnRequest request) {
    if (agent_socket_.path().empty()) return refused("the agent has no local socket for a template");
    auto outcome = Spawning::begin(std::move(request));
    if (auto* error = std::get_if<SpawnError>(&outcome)) return *error;
    auto& spawning = std::get<Spawning>(outcome);
    if (auto error = spawning.finish()) return error;
    pid_ = spawning.pid();
    return std::nullopt;
}

void Template::at_fork_point(UniqueFd socket, pid_t peer, std::string said) {
    if (absent() || ready()) return;
    if (peer != pid_) return fail(refused("its fork point was reached by a process that it started, not by itself"));
    const int flags = fcntl(socket.get(), F_GETFL);
    if (flags < 0 || fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0 || !set_patience(socket.get()))
        return fail(failed("the template's socket", errno));
    char byte = 0;
    while (!said.ends_with('\n') && said.size() < kMostReason && base::receive_all(socket.get(), &byte, 1))
        said += byte;
    if (said != "\n") return fail(refused("cannot be forked:" + said.substr(0, said.find('\n'))));
    socket_ = std::move(socket);
    listener_.ready();
}

std::variant<Template::Forked, SpawnError> Template::fork(const SpawnRequest& request) {
    std::string variables;
    for (const std::string& variable : request.variables) variables.append(variable).push_back('\0');
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return failed("socketpair", errno);
    const UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    std::array<int, 4> descriptors{0, 1, 2, theirs.get()};
    for (std::size_t file = 0; file < request.files.size(); ++file)
        if (request.files[file] >= 0) descriptors[file] = request.files[file];

    const auto no_answer = [this] {
        const int error = errno;
        end();  // whatever it does now, nobody waits for it
        return failed("the template does not answer", error == EAGAIN ? ETIMEDOUT : error);
    };
    pid_t worker = 0;
    if (!set_patience(ours.get()) ||
        !send_head(socket_.get(), static_cast<std::uint32_t>(variables.size()), descriptors) ||
        !send_all(socket_.get(), variables) || !base::receive_all(socket_.get(), &worker, sizeof worker))
        return no_answer();
    theirs.reset();
    if (worker < 0) return failed("fork", -worker);

    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, worker, 0)));
    auto error = pidfd ? give_place(worker, request) : failed("cannot watch it", errno);
    char byte = 0;
    if (!error && (!send_all(ours.get(), {&byte, 1}) || !base::receive_all(ours.get(), &byte, 1)))
        error = failed("its fork cannot take its place", errno);
    if (!error) return Forked{worker, std::move(pidfd)};
    kill(worker, SIGKILL);
    while (waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {}
    return *error;
}

bool Template::collect(pid_t pid) {
    if (absent() || pid != pid_) return false;
    siginfo_t info{};
    const bool told = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid_;
    const bool was_ready = ready();
    pid_ = 0;
    socket_.reset();
    if (!was_ready) fail(refused(fmt::format("{} before its fork point", told ? how_it_ended(info) : "ended")));
    return true;
}

void Template::end() {
    socket_.reset();
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    pid_ = 0;
}

void Template::fail(SpawnError error) {
    end();
    error.step = "the template " + error.step;
    listener_.failed(error);
}

}  // namespace dlaunch::agent
