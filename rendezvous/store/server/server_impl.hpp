#pragma once
/// One epoll set holds all sockets of the server, and the loop watches the set's descriptor. A turn of the loop serves
/// every ready client at two system calls per request; a Watch per socket would cost four. A round first reads from all
/// ready clients, then writes all replies, so that clients on one host wake once per round and not once per reply.
///
/// server_accept.cpp: accepting. server_io.cpp: reading, serving, writing. server_tls.cpp: handshakes.
/// server_trunk.cpp: many clients on one connection. server_limits.cpp: ends, times, budgets.

#include <sys/epoll.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/net/stream.hpp"
#include "rendezvous/store/core/core.hpp"
#include "rendezvous/store/core/output.hpp"
#include "rendezvous/store/server/deadlines.hpp"
#include "rendezvous/store/server/half_open.hpp"
#include "rendezvous/store/server/kept_bytes.hpp"
#include "rendezvous/store/server/server.hpp"
#include "rendezvous/store/server/unanswered_keys.hpp"
#include "rendezvous/wire/tcpstore.hpp"
#include "rendezvous/wire/trunk.hpp"

namespace dlaunch::store {

inline constexpr std::size_t kReadBytes = 64 << 10;  // most that one read takes, so that all clients get a turn
inline constexpr std::size_t kWriteBytes = 1 << 20;  // likewise
inline constexpr std::size_t kShare = 4 << 10;       // a client may always hold so much
inline constexpr int kHellos = 16;                   // answered in a round, at 0.1 ms each: members must not wait

/// The epoll data of listeners; a client's is its slot.
inline constexpr std::uint64_t kListenerEvent = ~std::uint64_t{0};
/// Pause before another accept after descriptors ran out.
inline constexpr auto kNoDescriptorsPause = std::chrono::milliseconds(100);

/// The low bits of a ConnectionId are its slot, the high bits count connections.
inline constexpr int kSlotBits = 24;
inline Slot slot_of(ConnectionId id) { return static_cast<Slot>(id & ((ConnectionId{1} << kSlotBits) - 1)); }

/// Of a connection that is a trunk.
struct Trunk {
    /// Its clients; 0: the server has closed the channel, and the relay has not answered yet.
    std::unordered_map<wire::Channel, ConnectionId> clients;
    std::deque<ConnectionId> blocked;  // have replies, and wait for room in the trunk's output
};

/// The place of a client that has no connection of its own.
struct Inner {
    ConnectionId trunk = 0;
    wire::Channel channel = 0;
    std::size_t credit = wire::kWindow;  // bytes of replies that the relay has room for
    bool blocked = false;                // in Trunk::blocked
};

/// One accepted connection, or one channel of a trunk.
struct Client {
    Client(base::UniqueFd fd, ConnectionId own_id, std::string from, wire::Decoder::Takes takes)
        : stream(std::move(fd)), id(own_id), address(std::move(from)), decoder(takes) {}

    net::Stream stream;
    const ConnectionId id;
    const std::string address;
    wire::Decoder decoder;
    Output output;
    std::unique_ptr<UnansweredKeys> unanswered;  // of the current MULTI_GET
    std::unique_ptr<Trunk> trunk;                // set by its hello
    std::unique_ptr<Inner> inner;                // set: `stream` is not used
    std::size_t held = 0;                        // its share of held_bytes
    base::Time unread_since;                     // start of being stuck
    std::uint32_t events = EPOLLIN;              // registered with epoll
    std::string hello;                           // of TLS, until it is complete
    bool is_new = true;                          // its first bytes decide whether it speaks TLS
    bool shakes_hands = false;                   // counts in handshakes
    bool waits = false;                          // for another client's handshake to end
    bool greeted = false;                        // its first message was valid
    bool silent = false;                         // has a place in silences: no request but PINGs yet
    bool touched = false;                        // queued for settle()
    bool extended = false;                       // has sent an extension message
    bool on_hold = false;                        // requests wait in the decoder
    bool finished = false;                       // takes no further requests: the hook will close it
    bool full = false;                           // likewise, or for too many unread replies
    bool stuck = false;                          // the socket's send buffer is full
    bool unwritable = false;                     // the peer has closed; what it sent before is still read
    bool late = false;                           // a message is incomplete, with a deadline
    bool suspended = false;                      // over its share while the budget is used up: not read
    bool ending = false;                         // close when the output is sent
    bool by_fin = false;                         // the peer sent FIN
    bool dead = false;                           // free at the end of this turn
};

struct Server::Impl {
    Impl(base::Loop& the_loop, Listener the_listener, ServerHooks the_hooks, ServerLimits the_limits)
        : loop(the_loop),
          listener(std::move(the_listener)),
          hooks(std::move(the_hooks)),
          limits(the_limits),
          core(limits.pending_bytes),
          half_open(limits.half_open, limits.half_open_time, limits.hurried_half_open_time),
          joins(limits.half_open_time),
          messages(limits.message_time),
          endings(limits.half_open_time),
          silences(limits.hurried_half_open_time),
          handshake_times(limits.handshake_time),
          set(epoll_create1(EPOLL_CLOEXEC)),
          most_kept(limits.kept_bytes ? *limits.kept_bytes : usual_kept_bytes()) {
        core.limit_kept(most_kept);
    }

    // accepting
    bool start();
    bool listen_too(base::UniqueFd socket);
    void clear();
    base::UniqueFd accept_one(std::string& address) const;
    void accept_some();
    [[nodiscard]] bool has_free_slot();
    void add(base::UniqueFd socket, std::string address);
    [[nodiscard]] bool has_descriptors() const;
    [[nodiscard]] int descriptor_limit() const;
    void renew_accepting();

    // reading, serving, writing
    bool watch_for(int fd, int operation, std::uint32_t events, std::uint64_t data);
    void turn();
    void turn_again();
    [[nodiscard]] bool is_busy() const { return !unfinished.empty() || has_next_handshake(); }
    void serve_until(int stop);
    int round(int timeout_ms);
    void on_event(Client& client, std::uint32_t events);
    void read(Client& client);
    void take(Client& client, const net::Stream::Received& received);
    void serve(Client& client);
    bool answer_keys(Client& client);
    bool carry_out(Client& client, const wire::Request& request);
    [[nodiscard]] bool is_held(const Client& client) const { return client.on_hold || client.finished || all_on_hold; }
    void send_answers();
    void touch(Client& client);
    void settle_all();
    void settle(Client& client);
    void stop_writing(Client& client);
    std::size_t flush(Client& client);
    void renew_watch(Client& client);

    // handshakes
    [[nodiscard]] bool is_awaited(const Client& client) const { return client.is_new && hooks.tls; }
    void read_first(Client& client, std::string_view bytes);
    void read_hello(Client& client, std::string_view bytes);
    void shake_hands(Client& client);
    void end_handshake(Client& client);
    void next_handshakes();
    [[nodiscard]] bool has_next_handshake() const { return !waiting.empty() && handshakes < limits.handshakes; }
    void refuse(Client& client, Stranger kind);

    // trunks
    void take_trunks(std::string key);
    bool take_frame(Client& carrier, const wire::Request& request);
    [[nodiscard]] Client* inner_client(Client& carrier, wire::Channel channel);
    std::size_t flush_inner(Client& client);
    [[nodiscard]] static std::uint8_t answer_byte(const Client& client, const Core::Woken& woken);
    void unblock(Client& carrier);
    void leave_trunk(Client& client);

    // ends, times, budgets
    void admit(Client& client);
    void finish(Client& client);
    void end(Client& client);
    void kill(Client& client);
    void reap_later();
    void reap();
    void check_times();
    [[nodiscard]] std::optional<base::Time> next_time() const;
    void arm_timer();
    [[nodiscard]] Client* find(ConnectionId id) const;
    [[nodiscard]] bool is_crowded() const { return held_bytes > limits.held_bytes; }
    /// Most unread bytes of a client that is still served.
    [[nodiscard]] std::size_t room() const { return is_crowded() ? kShare : limits.unread_bytes; }
    void count(Client& client);
    void time_message(Client& client, bool made_progress);
    bool suspend(Client& client);
    void resume();
    void drop_retired();
    void expect_requests(bool now_expected);
    void expect_first_request(Client& client);
    [[nodiscard]] std::size_t kept_limit() const { return expected ? most_kept : limits.unexpected_kept_bytes; }
    void report_full(const wire::Request& request);
    /// Whether members and store clients compete for descriptors.
    [[nodiscard]] bool is_shared() const { return hooks.extension && hooks.serves_requests; }

    base::Loop& loop;
    Listener listener;
    std::vector<base::UniqueFd> more_listeners;
    const ServerHooks hooks;
    const ServerLimits limits;
    Core core;
    HalfOpen half_open;
    Deadlines joins, messages, endings;  // for admission; for complete messages; for the last bytes
    Deadlines silences;                  // for a first request; where is_shared() and descriptors are short
    Deadlines handshake_times;
    base::UniqueFd set;
    base::Watch watch;
    base::Timer timer, next_turn, reaper;
    base::Time timer_at;
    std::optional<base::Time> accept_again;        // end of a pause without descriptors
    std::vector<std::unique_ptr<Client>> clients;  // by slot
    std::vector<Slot> free_slots, touched, unfinished, dead;
    std::deque<ConnectionId> suspended;  // in the order in which they resume
    std::deque<ConnectionId> waiting;    // likewise
    std::size_t handshakes = 0;          // in progress
    int hellos = 0;                      // answered in this round
    ConnectionId favoured = 0;           // read in spite of the budget, until its message is complete
    std::size_t held_bytes = 0;          // by all clients
    const std::size_t most_kept;         // while requests are expected
    base::Time next_report;              // of a full store, at the earliest
    std::uint64_t accepted = 0;
    bool accepting = true;
    std::string trunk_key;  // empty: trunks are refused
    bool draining = true;   // the backlog may hold connections from before the server
    bool turning = false;   // inside a round, which settles and reaps at its end
    bool alone = false;     // in serve_until()
    bool expected = true;   // store requests
    bool all_on_hold = false;
    std::array<char, kReadBytes> buffer;
};

}  // namespace dlaunch::store
