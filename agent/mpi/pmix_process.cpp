#include "agent/mpi/pmix_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <variant>

#include "agent/mpi/pmix_server.hpp"

namespace dlaunch::agent {

PmixProcess::PmixProcess(base::Loop& loop, Children& children, const Variables& environment, Observer observer)
    : loop_(loop), children_(children), observer_(std::move(observer)) {
    start(environment);
}

PmixProcess::~PmixProcess() { (void)kill(); }

base::UniqueFd PmixProcess::kill() {
    executed_ = {};
    stop_watching();
    if (pid_ == 0) return {};
    ::kill(pid_, SIGKILL);
    children_.remove(std::exchange(pid_, 0));  // from now on reaped as any child
    return std::move(pidfd_);
}

/// The path is that of this program, also where it was replaced by another version meanwhile.
void PmixProcess::start(const Variables& environment) {
    const auto fail_soon = [this](std::string how) {
        soon_ = loop_.after(base::Duration::zero(), [this, how = std::move(how)] { observer_.on_end(how); });
    };
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return fail_soon(fmt::format("has no socket: {}", std::strerror(errno)));
    socket_.reset(ends[0]);
    const base::UniqueFd theirs(ends[1]), null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    SpawnRequest request;
    request.paths = {"/proc/self/exe"};
    request.arguments = {"dlaunch", kPmixServerCommand};
    for (const auto& [name, value] : environment) request.variables.push_back(fmt::format("{}={}", name, value));
    request.files = {theirs.get(), null.get(), null.get()};
    auto outcome = Spawning::begin(std::move(request));
    if (auto* error = std::get_if<SpawnError>(&outcome))
        return fail_soon(fmt::format("could not be started: {}", error->text()));
    spawning_ = std::move(std::get<Spawning>(outcome));
    pid_ = spawning_->pid();
    pidfd_ = spawning_->take_pidfd();
    children_.add(pid_, Children::Kind::lasting);
    executed_ = loop_.readable(spawning_->result(), [this] { on_result(); });
    ended_ = loop_.readable(pidfd_.get(), [this] { on_end(); });
    readable_ = loop_.readable(socket_.get(), [this] { read(); });
}

/// execve has succeeded or failed.
void PmixProcess::on_result() {
    const auto error = spawning_->finish();
    executed_ = {};
    spawning_.reset();
    if (!error) return;
    children_.remove(std::exchange(pid_, 0));
    end(fmt::format("could not be started: {}", error->text()));
}

void PmixProcess::on_end() {
    if (spawning_) return on_result();
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid != pid_) return;
    children_.remove(std::exchange(pid_, 0));
    drain();  // the process may have reported why it ends
    end(info.si_code == CLD_EXITED ? fmt::format("exited with {}", info.si_status)
                                   : fmt::format("was killed by signal {}", info.si_status));
}

void PmixProcess::stop_watching() {
    ended_ = {};
    readable_ = {};
    writable_ = {};
}

void PmixProcess::end(const std::string& how) {
    stop_watching();
    observer_.on_end(how);
}

void PmixProcess::drain() { read(); }

void PmixProcess::read() {
    std::array<char, 1 << 16> bytes;
    for (;;) {
        const ssize_t got = ::read(socket_.get(), bytes.data(), bytes.size());
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) readable_ = {};  // the end of the process follows
        if (got <= 0) return;
        arrived_.add({bytes.data(), static_cast<std::size_t>(got)});
        while (const auto message = arrived_.next()) observer_.on_message(*message);
    }
}

void PmixProcess::send(const PmixMessage& message) {
    unsent_ += encode(message);
    flush();
}

void PmixProcess::flush() {
    while (!unsent_.empty()) {
        const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) break;
        unsent_.erase(0, static_cast<std::size_t>(sent));
    }
    if (unsent_.empty() || errno != EAGAIN)
        writable_ = {};
    else if (!writable_)
        writable_ = loop_.writable(socket_.get(), [this] { flush(); });
}

}  // namespace dlaunch::agent
