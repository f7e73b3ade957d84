#include "agent/services/template.hpp"

#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "agent/process/sweep.hpp"
#include "agent/services/socket.hpp"
#include "rendezvous/base/pass_descriptors.hpp"
#include "rendezvous/wire/fork_point.hpp"

namespace dlaunch::agent {
namespace {

using base::UniqueFd;

constexpr auto kSweepDeadline = std::chrono::seconds(5);

}  // namespace

Template::Template(base::Loop& loop, AgentSocket& socket, Children& children) : loop_(loop), children_(children) {
    socket.on_request(std::string(wire::kForkPoint), [this](AgentSocket::Request request) {
        at_fork_point(std::move(request.connection), request.peer, request.arguments);
    });
}

Template::~Template() {
    if (absent() && dying_.empty()) return;
    abandon();
    sweep(kSweepDeadline);
}

std::optional<SpawnError> Template::start(SpawnRequest request) {
    auto outcome = Spawning::begin(std::move(request));
    if (auto* error = std::get_if<SpawnError>(&outcome)) return *error;
    spawning_ = std::move(std::get<Spawning>(outcome));
    pid_ = spawning_->pid();
    asked_to_stop_ = false;
    pidfd_ = spawning_->take_pidfd();
    children_.add(pid_, Children::Kind::lasting);
    ended_ = loop_.readable(pidfd_.get(), [this] { on_end(); });
    return std::nullopt;
}

void Template::forget() {
    children_.remove(std::exchange(pid_, 0));
    spawning_.reset();
    ended_ = {};
    pidfd_.reset();
    socket_.reset();
}

void Template::at_fork_point(UniqueFd socket, pid_t peer, const std::string& obstacle) {
    if (!prepares()) return;
    if (asked_to_stop_) return signal(SIGKILL);
    if (peer != pid_) return refuse("a child of the template reached the fork point (a script must exec the program)");
    if (!obstacle.empty()) return refuse("the template cannot be forked: " + obstacle);
    spawning_.reset();
    socket_ = std::move(socket);
    observer_->on_ready();
}

bool Template::ready() {
    if (socket_) (void)reap();
    return static_cast<bool>(socket_);
}

std::variant<UniqueFd, SpawnError> Template::order() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return SpawnError{.step = "socketpair", .number = errno};
    UniqueFd ours(pair[0]);
    const UniqueFd theirs(pair[1]);
    // EPIPE and ECONNRESET: the template has died; its pidfd reports the exit, and the channel closes.
    if (!base::send_descriptors(socket_.get(), std::array{theirs.get()}) && errno != EPIPE && errno != ECONNRESET)
        return SpawnError{.step = "request a fork from the template", .number = errno};
    return ours;
}

void Template::stop(int number) {
    if (!prepares()) return;
    asked_to_stop_ = true;
    signal(number);
    signal(SIGCONT);
}

void Template::signal(int number) const {
    const bool has_group = !spawning_ || !spawning_->is_starting();
    if (pid_ != 0) kill(has_group ? -pid_ : pid_, number);
}

/// None while the template lives.
std::optional<Template::End> Template::reap() {
    siginfo_t info{};
    if (absent()) return std::nullopt;
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid != pid_)
        return std::nullopt;
    const End end{pid_, info.si_code, info.si_status, static_cast<bool>(socket_)};
    forget();
    return end;
}

void Template::on_end() {
    if (const auto error = spawning_ ? spawning_->finish() : std::nullopt) {
        forget();
        return observer_->on_refused(*error);
    }
    if (const auto end = reap()) observer_->on_ended(*end);
}

/// Kills the template without waiting, because a tracer or much memory may delay its exit. The next sweep kills its
/// descendants.
void Template::abandon() {
    if (absent()) return;
    kill(pid_, SIGKILL);
    children_.add(pid_, Children::Kind::worker);
    Dying& dying = dying_[pid_];
    dying.pidfd = std::move(pidfd_);
    ended_ = {};
    dying.watch = loop_.readable(dying.pidfd.get(), [this, pid = pid_] {
        siginfo_t info{};
        if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG) == 0 && info.si_pid != pid) return;
        dying_.erase(pid);
        children_.remove(pid);
    });
    pid_ = 0;
    spawning_.reset();
    socket_.reset();
}

void Template::refuse(const std::string& why) {
    abandon();
    observer_->on_refused({.step = why, .permanent = true});
}

}  // namespace dlaunch::agent
