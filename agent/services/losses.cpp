#include "agent/services/losses.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {
namespace {

constexpr std::size_t kMostReasonBytes = 400;
constexpr std::size_t kMostWithReasons = 256UL * 1024;  // bytes of lines_; lines beyond it have no reason

}  // namespace

LossNotices::LossNotices(base::Loop& loop, AgentSocket& socket) : loop_(loop) {
    socket.on_request("losses", [this](AgentSocket::Request request) { follow(std::move(request.connection)); });
}

void LossNotices::prepare(const Assignment&) {
    lines_.clear();
    reported_.clear();
    followers_.clear();
}

void LossNotices::report(const rendezvous::LostRanks& ranks, std::string_view reason) {
    for (const rendezvous::RankRange& range : ranks) {
        if (!reported_.emplace(range.first, range.count).second) continue;
        const bool in_full = lines_.size() < kMostWithReasons;
        lines_ += fmt::format("lost {} {} {}\n", range.first, range.count,
                              in_full ? base::printable(reason.substr(0, kMostReasonBytes)) : "lost");
    }
    for (auto at = followers_.begin(); at != followers_.end();)
        at = send_lines(at->second) ? std::next(at) : followers_.erase(at);
}

void LossNotices::follow(base::UniqueFd connection) {
    const int descriptor = connection.get();
    Follower& follower = followers_[descriptor];
    follower.connection = std::move(connection);
    watch(follower, Follower::Awaits::bytes);
    if (!send_lines(follower)) followers_.erase(descriptor);
}

void LossNotices::watch(Follower& follower, Follower::Awaits awaits) {
    const int descriptor = follower.connection.get();
    follower.watch = {};  // a descriptor has one watch at a time
    follower.awaits = awaits;
    auto ready = [this, descriptor] { on_ready(descriptor); };
    switch (awaits) {
        case Follower::Awaits::bytes: follower.watch = loop_.readable(descriptor, ready); break;
        case Follower::Awaits::end: follower.watch = loop_.hung_up(descriptor, ready); break;
        case Follower::Awaits::room: follower.watch = loop_.writable(descriptor, ready); break;
    }
}

bool LossNotices::send_lines(Follower& follower) {
    while (follower.sent < lines_.size()) {
        const ssize_t put = send(follower.connection.get(), lines_.data() + follower.sent,
                                 lines_.size() - follower.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno != EAGAIN) return false;
        if (put < 0) break;
        follower.sent += static_cast<std::size_t>(put);
    }
    const auto awaits = follower.sent < lines_.size() ? Follower::Awaits::room
                        : follower.is_half_closed     ? Follower::Awaits::end
                                                      : Follower::Awaits::bytes;
    if (awaits != follower.awaits) watch(follower, awaits);
    return true;
}

/// Unread bytes would turn the end of the stream into an error for the follower. A descriptor at its end of file stays
/// readable: from then on only a hang-up ends the connection. False: the connection has closed.
bool LossNotices::discard_bytes(Follower& follower) {
    char bytes[64];
    const ssize_t got = recv(follower.connection.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    follower.is_half_closed = got == 0;
    return got >= 0 || errno == EAGAIN || errno == EINTR;
}

void LossNotices::on_ready(int descriptor) {
    const auto at = followers_.find(descriptor);
    Follower& follower = at->second;
    const bool is_open = follower.awaits == Follower::Awaits::room ||
                         (follower.awaits == Follower::Awaits::bytes && discard_bytes(follower));
    if (!is_open || !send_lines(follower)) followers_.erase(at);
}

}  // namespace dlaunch::agent
