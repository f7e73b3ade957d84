// Accepting: the backlog from before the server, the limit of half-open connections, descriptors that must stay free.

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "rendezvous/base/address.hpp"
#include "rendezvous/store/server/server_impl.hpp"

namespace dlaunch::store {
namespace {

constexpr int kAccepts = 4096;  // per turn: a full backlog, so that a herd does not overflow it
constexpr std::size_t kMostSpare = 4096;
constexpr int kMostCleared = 65'536;  // backlog entries per clear(): a flood must not hold the loop

bool has_hung_up(int socket) {
    pollfd what{socket, POLLRDHUP, 0};
    return poll(&what, 1, 0) > 0;
}

}  // namespace

/// The socket may have listened before the server started. Dead connections in its backlog belong to an earlier round,
/// and their requests must not take effect in this one. accept_some() drops them until the backlog was empty once.
bool Server::Impl::start() {
    if (!set || !watch_for(listener.socket.get(), EPOLL_CTL_ADD, EPOLLIN, kListenerEvent)) return false;
    turning = true;
    while (draining && accepting) accept_some();
    turning = false;
    watch = loop.readable(set.get(), [this] { turn(); });
    return true;
}

bool Server::Impl::listen_too(base::UniqueFd socket) {
    if (!watch_for(socket.get(), EPOLL_CTL_ADD, accepting ? EPOLLIN : 0U, kListenerEvent)) return false;
    more_listeners.push_back(std::move(socket));
    return true;
}

void Server::Impl::clear() {
    std::string address;
    for (int count = 0; count < kMostCleared && accept_one(address); ++count) {}
    for (const auto& client : clients)
        if (client && !client->extended) kill(*client);
    core.clear();
}

base::UniqueFd Server::Impl::accept_one(std::string& address) const {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const auto accept_from = [&](const base::UniqueFd& at) {
        size = sizeof from;
        return base::UniqueFd(
            accept4(at.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    };
    base::UniqueFd socket = accept_from(listener.socket);
    for (auto at = more_listeners.begin(); !socket && errno == EAGAIN && at != more_listeners.end(); ++at)
        socket = accept_from(*at);
    if (socket) address = base::address_text(from);
    return socket;
}

/// At a limit, new connections wait in the kernel's backlog. The listeners are not watched meanwhile, or the loop would
/// spin.
void Server::Impl::accept_some() {
    const int limit = descriptor_limit();
    for (int i = 0; i < kAccepts; ++i) {
        if (half_open.full()) return renew_accepting();
        std::string address;
        base::UniqueFd socket = accept_one(address);
        const bool is_short =
            socket ? socket.get() >= limit : errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (!socket && !is_short) {
            draining = false;
            return;
        }
        if (socket && !(draining && has_hung_up(socket.get())) && (!hooks.admits || hooks.admits(socket.get())))
            add(std::move(socket), std::move(address));
        if (!is_short) continue;
        accept_again = base::Clock::now() + kNoDescriptorsPause;
        return renew_accepting();
    }
}

/// Descriptors below this number may be used by connections. The kernel assigns the lowest free number, so a descriptor
/// at the limit means that all below are in use.
int Server::Impl::descriptor_limit() const {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return INT_MAX;
    const auto all = static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur, INT_MAX));
    const std::size_t spare = limits.spare_descriptors.value_or(std::min(all / 4, kMostSpare));
    return static_cast<int>(all - std::min(all, spare));
}

bool Server::Impl::has_descriptors() const {
    const base::UniqueFd lowest_free(fcntl(set.get(), F_DUPFD_CLOEXEC, 0));
    return lowest_free && lowest_free.get() < descriptor_limit();
}

/// Starts or stops accepting. While new connections wait, half-open ones have less time.
void Server::Impl::renew_accepting() {
    const bool has_room = !accept_again && !half_open.full();
    half_open.hurry(!has_room);
    if (has_room == accepting) return;
    accepting = has_room;
    const std::uint32_t events = accepting ? EPOLLIN : 0U;
    watch_for(listener.socket.get(), EPOLL_CTL_MOD, events, kListenerEvent);
    for (const base::UniqueFd& each : more_listeners) watch_for(each.get(), EPOLL_CTL_MOD, events, kListenerEvent);
    arm_timer();
}

/// Makes one if all are taken, up to kSlotBits.
bool Server::Impl::has_free_slot() {
    if (!free_slots.empty()) return true;
    if (clients.size() >> kSlotBits) return false;
    free_slots.push_back(static_cast<Slot>(clients.size()));
    clients.emplace_back();
    return true;
}

void Server::Impl::add(base::UniqueFd socket, std::string address) {
    if (!has_free_slot()) return;
    const Slot slot = free_slots.back();
    if (!watch_for(socket.get(), EPOLL_CTL_ADD, EPOLLIN, slot)) return;
    free_slots.pop_back();
    const ConnectionId id = ++accepted << kSlotBits | slot;
    half_open.enter(slot, address, base::Clock::now());
    using Takes = wire::Decoder::Takes;
    const bool takes_frames = hooks.extension || hooks.takes_trunks;
    const Takes takes = !takes_frames ? Takes::requests : hooks.serves_requests ? Takes::both : Takes::extensions;
    clients[slot] = std::make_unique<Client>(std::move(socket), id, std::move(address), takes);
    clients[slot]->decoder.limit_payload(limits.first_payload_bytes);
    arm_timer();
}

}  // namespace dlaunch::store
