#include "agent/services/template.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "agent/process/sweep.hpp"
#include "agent/services/socket.hpp"
#include "rendezvous/base/pass_files.hpp"
#include "rendezvous/wire/fork_point.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;

constexpr auto kSweepDeadline = std::chrono::seconds(5);

SpawnError permanent(std::string text) { return {std::move(text), 0, true, false, {}}; }
SpawnError failed(std::string step, int number) { return {std::move(step), number, false, false, {}}; }

}  // namespace

Template::Template(base::Loop& loop, AgentSocket& socket) : loop_(loop) {
    socket.on_request(std::string(wire::kForkPoint), [this](AgentSocket::Request request) {
        at_fork_point(std::move(request.connection), request.peer, request.arguments);
    });
}

Template::~Template() {
    if (absent()) return;
    end();
    sweep(kSweepDeadline);
}

std::optional<SpawnError> Template::start(SpawnRequest request) {
    auto outcome = Spawning::begin(std::move(request));
    if (auto* error = std::get_if<SpawnError>(&outcome)) return *error;
    auto& spawning = std::get<Spawning>(outcome);
    if (auto error = spawning.finish()) return error;
    pid_ = spawning.pid();
    asked_to_stop_ = false;
    pidfd_ = spawning.take_pidfd();
    ended_ = loop_.readable(pidfd_.get(), [this] { tell_end(); });
    return std::nullopt;
}

void Template::at_fork_point(UniqueFd socket, pid_t peer, const std::string& obstacle) {
    if (!prepares()) return;
    if (asked_to_stop_) return signal(SIGKILL);
    if (peer != pid_)
        return refuse("its fork point was reached by a process that it started (a script must exec the program)");
    if (!obstacle.empty()) return refuse("the template cannot be forked: " + obstacle);
    socket_ = std::move(socket);
    listener_.ready();
}

bool Template::ready() {
    if (socket_) (void)reap();
    return static_cast<bool>(socket_);
}

std::variant<UniqueFd, SpawnError> Template::order() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return failed("socketpair", errno);
    UniqueFd ours(pair[0]);
    const UniqueFd theirs(pair[1]);
    // Where it has just died its end is told, and the line ends.
    if (!base::send_files(socket_.get(), std::array{theirs.get()}) && errno != EPIPE && errno != ECONNRESET)
        return failed("order it from the template", errno);
    return ours;
}

void Template::stop(int number) {
    if (!prepares()) return;
    asked_to_stop_ = true;
    signal(number);
    signal(SIGCONT);
}

void Template::signal(int number) const {
    if (pid_ != 0) kill(-pid_, number);
}

/// Nothing while it lives. The sweep at a round's end may have taken its status.
std::optional<Template::End> Template::reap() {
    siginfo_t info{};
    if (absent()) return std::nullopt;
    const bool gone = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 && errno == ECHILD;
    if (!gone && info.si_pid != pid_) return std::nullopt;
    End end{pid_, info.si_code, info.si_status, static_cast<bool>(socket_)};
    if (gone) end.code = CLD_KILLED, end.status = SIGKILL;
    pid_ = 0;
    ended_ = {};
    pidfd_.reset();
    socket_.reset();
    return end;
}

void Template::tell_end() {
    if (const auto end = reap()) listener_.ended(*end);
}

void Template::end() {
    if (absent()) return;
    kill(pid_, SIGKILL);
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    (void)reap();
}

void Template::refuse(const std::string& why) {
    end();
    listener_.refused(permanent(why));
}

}  // namespace dlaunch::agent
