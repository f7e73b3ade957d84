#include "agent/mpi/pmix_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/mpi/pmix_server.hpp"

namespace dlaunch::agent {

PmixProcess::PmixProcess(base::Loop& loop, Children& children, const Variables& environment, Observer observer)
    : loop_(loop), observer_(std::move(observer)), program_(loop, children) {
    start(environment);
}

base::UniqueFd PmixProcess::kill() {
    readable_ = {};
    writable_ = {};
    soon_ = {};
    return program_.kill();
}

/// The path is that of this program, also where it was replaced by another version meanwhile.
void PmixProcess::start(const Variables& environment) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return void(soon_ = loop_.after(base::Duration::zero(), [this, how = std::string(std::strerror(errno))] {
            end("has no socket: " + how);
        }));
    socket_.reset(ends[0]);
    const base::UniqueFd theirs(ends[1]), null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    SpawnRequest request;
    request.paths = {"/proc/self/exe"};
    request.arguments = {"dlaunch", kPmixServerCommand};
    for (const auto& [name, value] : environment) request.variables.push_back(fmt::format("{}={}", name, value));
    request.files = {theirs.get(), null.get(), null.get()};
    program_.begin(std::move(request), [this](const ChildProgram::End& how) {
        if (!how.executed) return end("could not be started: " + how.text);
        drain();  // the process may have reported why it ends
        end(how.text);
    });
    readable_ = loop_.readable(socket_.get(), [this] { read(); });
}

void PmixProcess::end(const std::string& how) {
    readable_ = {};
    writable_ = {};
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
