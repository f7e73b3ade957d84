#include "agent/mpi/pmi1_connection.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace dlaunch::agent {

Pmi1Connection::Pmi1Connection(base::Loop& loop, base::UniqueFd socket, Observer observer)
    : loop_(loop), socket_(std::move(socket)), observer_(std::move(observer)) {
    watch();
}

void Pmi1Connection::close() {
    watch_ = {};
    awaits_ = Awaits::nothing;
    socket_.reset();
    received_.clear();
    unsent_.clear();
}

/// Waits for one of both: a descriptor has one watch. A client that does not read its replies is not read from.
void Pmi1Connection::watch() {
    if (!socket_) return;
    const auto wanted = unsent_.empty() ? Awaits::bytes : Awaits::room;
    if (wanted == awaits_) return;
    awaits_ = wanted;
    watch_ = {};
    auto ready = [this] { on_ready(); };
    watch_ = wanted == Awaits::bytes ? loop_.readable(socket_.get(), ready) : loop_.writable(socket_.get(), ready);
}

void Pmi1Connection::on_ready() {
    if (awaits_ == Awaits::room)
        flush();
    else
        static_cast<void>(read_some());
    watch();
}

/// False: there is nothing to read now, or the client has closed.
bool Pmi1Connection::read_some() {
    if (!socket_) return false;
    std::array<char, 16384> bytes;
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
    if (got <= 0) {
        close();
        return false;
    }
    received_.append(bytes.data(), static_cast<std::size_t>(got));
    split();
    return true;
}

void Pmi1Connection::split() {
    std::string bytes = std::move(received_);
    received_.clear();
    std::size_t begin = 0;
    for (std::size_t end; socket_ && (end = bytes.find('\n', begin)) != std::string::npos; begin = end + 1)
        observer_.on_line(std::string_view(bytes).substr(begin, end - begin));
    if (!socket_) return;
    received_ = bytes.substr(begin);
    if (received_.size() <= kMostLineBytes) return;
    close();
    observer_.on_endless();
}

void Pmi1Connection::drain() {
    while (read_some()) {}
    watch();
}

void Pmi1Connection::send(std::string_view line) {
    if (!socket_) return;
    unsent_.append(line).push_back('\n');
    if (awaits_ == Awaits::room) return;
    flush();
    watch();
}

void Pmi1Connection::flush() {
    std::size_t sent = 0;
    while (sent < unsent_.size()) {
        const ssize_t put =
            ::send(socket_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno != EAGAIN) return close();
        if (put < 0) break;
        sent += static_cast<std::size_t>(put);
    }
    unsent_.erase(0, sent);
}

}  // namespace dlaunch::agent
