#pragma once
/// The store without I/O and clock: keys, values, queues and pending waits. Input: requests by connection number.
/// Output: the bytes of replies.
///
/// A key *exists* when it has a value or is a queue that is not empty. A WAIT is answered when each of its keys has
/// existed at some moment since the request; a key that was deleted again counts. A pending WAIT or BARRIER delays no
/// other reply of its connection, and one connection may have several.
///
/// A waiter is a Wait with one Ticket per missing key, each in the Line of that key. A new key dissolves its line; a
/// wait without tickets is answered. So waking n waiters costs n steps, and cancelling a wait costs one step per key,
/// for any number of other waits. A pushed queue item answers one wait only, the longest pending.

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rendezvous/store/core/output.hpp"
#include "rendezvous/store/core/retired.hpp"
#include "rendezvous/store/core/slot.hpp"
#include "rendezvous/store/core/value.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {

class Core {
public:
    enum class Verdict : std::uint8_t {
        unchanged,  ///< done; no key and no queue changed
        changed,    ///< done
        refused,    ///< no effect and no reply: close this connection
        full,       ///< the same, because kept_bytes() would exceed its limit
    };

    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// `most_pending_bytes` limits the memory of pending WAITs and BARRIERs; a request beyond it is refused.
    explicit Core(std::size_t most_pending_bytes = SIZE_MAX) : most_pending_bytes_(most_pending_bytes) {}

    /// Executes one request, wholly or not at all, and appends its reply to `replies`, unless it is pending. The caller
    /// numbers the connections.
    Verdict handle(Slot from, const wire::Request& request, Output& replies);

    /// Connections, other than the requesting ones, with a WAIT or BARRIER answered since clear_woken(). The caller
    /// sends one kStopWaiting for each entry.
    struct Woken {
        Slot connection;
        bool by_item;  ///< of a queue, which is for one waiter alone
        bool is_over;  ///< false: the other waiters of a joined WAIT wait on
    };
    [[nodiscard]] const std::vector<Woken>& woken() const { return woken_; }
    void clear_woken() { woken_.clear(); }

    /// The only pending WAIT of a connection has one waiter more, or one less. A new key answers it once for all
    /// waiters, and an item of a queue once for one of them. No effect without a pending WAIT.
    void join(Slot connection);
    void leave(Slot connection);
    /// Cancels the pending WAITs and BARRIERs of a connection; true if there were any. A BARRIER stays counted.
    bool give_up(Slot connection);
    /// The connection has closed.
    void close(Slot connection) { give_up(connection); }
    /// Removes every key and every queue. Pending WAITs and BARRIERs stay.
    void clear();

    /// The memory of keys, values and queues: their bytes and, for each, an upper bound of its part of the tables.
    [[nodiscard]] std::size_t kept_bytes() const { return kept_bytes_; }
    /// Limits kept_bytes(). While it is over the limit, requests may only reduce it.
    void limit_kept(std::size_t bytes) { most_kept_bytes_ = bytes; }
    static constexpr std::size_t kKeyCost = 192;     ///< a key with a value
    static constexpr std::size_t kQueueCost = 1024;  ///< a queue that is not empty
    static constexpr std::size_t kItemCost = 64;     ///< an item of a queue

    /// Appends the reply of GET, which is also the part of a MULTI_GET's reply for one key.
    void get(std::string_view key, Output& replies) const;
    /// Large values that only pending replies hold.
    [[nodiscard]] Retired& retired() { return retired_; }

    /// Most keys that the pending waits of one connection may have.
    static constexpr std::size_t kMaxPendingKeys = wire::kMaxKeys;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    struct Wait;
    struct Line;
    struct Ticket : boost::intrusive::list_base_hook<> {
        Wait* wait = nullptr;
        Line* line = nullptr;
    };
    struct Line {
        const std::string* key = nullptr;
        boost::intrusive::list<Ticket, boost::intrusive::constant_time_size<false>> tickets;
    };
    struct Wait {
        Slot connection = 0;
        std::size_t missing = 0, keys = 0;
        std::size_t waiters = 1;
        std::unique_ptr<Ticket[]> tickets;
        std::list<Wait>::iterator self;
    };
    struct Waiter {
        std::list<Wait> waits;
        std::size_t keys = 0;
    };
    using Queue = std::deque<Value>;

    Verdict set(std::string_view key, std::string_view value);
    Verdict compare_set(const wire::Request& request, Output& replies);
    Verdict append(const wire::Request& request);
    Verdict multi_set(const wire::Request& request);
    Verdict queue_push(const wire::Request& request);
    Verdict queue_pop(const wire::Request& request, Output& replies);
    Verdict wait(Slot from, const wire::Request& request, Output& replies);
    Verdict barrier(Slot from, const wire::Request& request, Output& replies);
    Verdict add(std::string_view key, std::int64_t delta, std::int64_t& sum);
    void list_keys(Output& replies);

    [[nodiscard]] bool exists(std::string_view key) const;
    [[nodiscard]] bool keep(std::size_t more, std::size_t less = 0);
    [[nodiscard]] bool has_room_for_all(std::span<const std::string_view> pairs) const;
    [[nodiscard]] bool put(std::string_view key, std::string_view value);
    void retire(const Value& value);
    bool pend(Slot from, std::span<const std::string_view> keys, std::size_t missing);
    static std::size_t line_bytes(std::string_view key);
    void take_place(Ticket& ticket, std::string_view key);
    void wake_all(std::string_view key);
    void wake_one(std::string_view key);
    void answer(Wait& wait, bool by_item);
    void unlink(Ticket& ticket);

    boost::unordered_flat_map<std::string, Value, Hash, std::equal_to<>> values_;
    boost::unordered_flat_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    std::unordered_map<std::string, Line> lines_;  // tickets point into it: its nodes must not move
    std::vector<Waiter> waiters_;                  // by connection
    std::vector<Woken> woken_;
    const std::size_t most_pending_bytes_;
    std::size_t pending_bytes_ = 0;  // of tickets and lines
    std::size_t kept_bytes_ = 0, most_kept_bytes_ = SIZE_MAX;
    Retired retired_;
    std::weak_ptr<const std::string> listing_;  // of all keys, while a reply holds it and no key was added or deleted
    Slot current_ = 0;                          // sender of the request in progress
    Output* replies_ = nullptr;                 // to current_
};

}  // namespace dlaunch::store
