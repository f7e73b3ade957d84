#include "rendezvous/rounds/link.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "rendezvous/discovery/addresses.hpp"

namespace dlaunch::rendezvous {

MemberLink::MemberLink(base::Loop& loop, std::vector<Endpoint> places, Listener listener)
    : loop_(loop), listener_(std::move(listener)) {
    for (Endpoint& place : places) places_.push_back({std::move(place), {}});
}

MemberLink::~MemberLink() { disconnect(); }

void MemberLink::drop() {
    readable_ = {};
    writable_ = {};
    socket_.reset();
    reader_.reset();
    unsent_.clear();
    ++life_;
}

void MemberLink::disconnect() {
    if (socket_) {
        // What is unread would turn the end into a reset.
        std::array<char, 4096> unread;
        while (recv(socket_.get(), unread.data(), unread.size(), MSG_DONTWAIT) > 0) {}
        shutdown(socket_.get(), SHUT_WR);
    }
    drop();
}

void MemberLink::connect() {
    if (socket_) {
        const linger reset{1, 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    drop();
    current_ = next_;
    next_ = (next_ + 1) % places_.size();
    Place& place = places_[current_];
    if (place.address.empty()) {
        auto found = addresses_of(place.endpoint.host);
        if (!found || found->empty()) return fail(false, found ? "no address" : found.error().text);
        place.address = found->front();
    }
    auto address = socket_address(place.address, place.endpoint.port);
    if (!address) return fail(false, address.error().text);
    socket_ = base::UniqueFd(socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int yes = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int done = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->size);
    if (done != 0 && errno != EINPROGRESS) return fail(errno);
    writable_ = loop_.writable(socket_.get(), [this] { on_connected(); });
}

void MemberLink::fail(int error) { fail(error == ECONNREFUSED, std::strerror(error)); }

void MemberLink::fail(bool refused, const std::string& why) {
    drop();
    // With several places one that refuses is no proof that nobody is there.
    const ConnectFailure failure{refused && places_.size() == 1,
                                 fmt::format("{}: {}", places_[current_].endpoint.text(), why)};
    loop_.post([this, failure, life = life_] {
        if (life == life_) listener_.failed(failure);
    });
}

void MemberLink::on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(error);
    writable_ = {};
    next_ = current_;
    reader_ = std::make_unique<wire::FrameReader>();
    unsent_ = wire::kGreeting;
    readable_ = loop_.readable(socket_.get(), [this] { on_readable(); });
    listener_.connected();
}

void MemberLink::send(const Message& message) {
    if (!reader_) return;  // not connected
    unsent_ += wire::encode(message);
    if (!writable_) flush();
}

void MemberLink::flush() {
    while (!unsent_.empty()) {
        const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (count > 0) {
            unsent_.erase(0, static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            if (!writable_) writable_ = loop_.writable(socket_.get(), [this] { flush(); });
            return;
        } else if (errno != EINTR) {
            unsent_.clear();  // the end is read, with its reason
        }
    }
    writable_ = {};
}

void MemberLink::on_readable() {
    std::array<char, 16'384> bytes;
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (count > 0) {
        reader_->feed({bytes.data(), static_cast<std::size_t>(count)});
        return take_messages();
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    drop();
    listener_.closed(count == 0);
}

void MemberLink::take_messages() {
    using Outcome = wire::FrameReader::Outcome;
    Message message;
    for (const auto life = life_; life == life_;) {
        const Outcome outcome = reader_->next(message);
        if (outcome == Outcome::more) return;
        if (outcome == Outcome::message) {
            listener_.received(message);
            continue;
        }
        drop();
        return listener_.closed(false);  // no coordinator speaks like this
    }
}

}  // namespace dlaunch::rendezvous
