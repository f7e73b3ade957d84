#pragma once
/// One epoll set holds all sockets of the server, and the loop watches the set as if it were one descriptor. So a turn
/// of the loop serves every client that is ready, at two system calls a request; waiting for each socket in the loop
/// itself would cost four. A round first reads from all that are ready and then writes to all that have replies, so
/// that several clients on one host are woken once and not for each reply.

#include <sys/epoll.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/core/core.hpp"
#include "rendezvous/store/core/output.hpp"
#include "rendezvous/store/server/half_open.hpp"
#include "rendezvous/store/server/server.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {

using Slot = ConnectionId;

inline constexpr std::size_t kReadBytes = 64 << 10;  // most that one client is read from before the others' turn

/// One accepted connection.
struct Client {
    Client(base::UniqueFd fd, PeerId id, std::string from, bool extensions)
        : socket(std::move(fd)), peer(id), address(std::move(from)), decoder(extensions) {}

    base::UniqueFd socket;
    const PeerId peer;
    const std::string address;
    wire::Decoder decoder;
    Output output;
    std::uint32_t events = EPOLLIN;  // what the set watches it for
    bool greeted = false;            // has said its first message
    bool touched = false;            // to be settled
    bool extended = false;           // has sent a message of ours
    bool full = false;               // has too much unread: requests wait in the decoder
    bool stuck = false;              // the kernel took no more of the output
    bool ending = false;             // to be closed when the output is gone
    bool by_its_end = false;         // it has closed in order
    bool dead = false;               // to be freed at the end of this turn
};

struct Server::Impl {
    Impl(base::Loop& the_loop, Listener the_listener, ServerHooks the_hooks, ServerLimits the_limits)
        : loop(the_loop),
          listener(std::move(the_listener)),
          hooks(std::move(the_hooks)),
          limits(the_limits),
          half_open(limits.half_open, limits.half_open_time),
          set(epoll_create1(EPOLL_CLOEXEC)) {}

    bool start();
    bool listen_too(base::UniqueFd socket);
    void watch_listeners(std::uint32_t events);
    void forget();
    bool watch_for(int fd, int operation, std::uint32_t events, std::uint64_t data);
    void turn();
    void serve_until(int stop);
    int round(int timeout_ms);
    base::UniqueFd accept_one(std::string& address) const;
    void accept_some();
    void add(base::UniqueFd socket, std::string address);
    void on_event(Client& client, std::uint32_t events);
    void read(Client& client);
    void serve(Client& client);
    bool carry_out(Client& client, const wire::Request& request);
    void touch(Client& client);
    void settle_all();
    void settle(Client& client);
    void flush(Client& client);
    void renew_watch(Client& client);
    void end(Client& client);
    void kill(Client& client);
    void reap_later();
    void reap();
    void check_times();
    [[nodiscard]] std::optional<base::Time> next_time() const;
    void arm_timer();
    [[nodiscard]] Client* find(PeerId peer) const;

    base::Loop& loop;
    Listener listener;
    std::vector<base::UniqueFd> more_listeners;
    const ServerHooks hooks;
    const ServerLimits limits;
    Core core;
    HalfOpen half_open;
    base::UniqueFd set;
    base::Watch watch;
    base::Timer timer, reaper;
    base::Time timer_at;
    std::optional<base::Time> accept_again;        // after a pause without descriptors
    std::vector<std::unique_ptr<Client>> clients;  // by slot
    std::vector<Slot> free_slots, touched, dead;
    std::deque<std::pair<base::Time, PeerId>> endings;  // when an ending connection is closed whatever is unread
    std::uint32_t accepted = 0;
    bool turning = false;  // inside of a round, which settles and reaps at its end
    bool alone = false;    // in serve_until()
    std::array<char, kReadBytes> buffer;
};

}  // namespace dlaunch::store
