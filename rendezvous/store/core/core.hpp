#pragma once
/// The store itself: keys, values, queues and pending waits. No I/O, no clock; connections are numbers, requests go in
/// and the bytes of replies come out.
///
/// A key *exists* when it has a value or is a queue that is not empty. A WAIT is answered when each of its keys has
/// existed at some moment since it was asked: a key that came and went still counts, and what stored nothing counts for
/// nothing. A pending WAIT or BARRIER holds back no other reply of its connection, and one connection may have several.
///
/// A waiter is a Wait with one Ticket per missing key, each in the Line of that key. When a key comes, its line is
/// dissolved; a wait without tickets is answered. So waking n waiters costs n steps, and giving up costs as many steps
/// as keys, however many others wait. A pushed queue item answers one wait only, the longest pending.

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
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
        refused,    ///< nothing was done and nothing replied: this connection must end
    };

    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// `most_pending_bytes` is the memory that pending WAITs and BARRIERs may take; one that would take more is
    /// refused.
    explicit Core(std::size_t most_pending_bytes = SIZE_MAX) : most_pending_bytes_(most_pending_bytes) {}

    /// Carries out one request, whole or not at all, and appends its reply, where it has one by now, to `replies`.
    /// Connections are numbered by the caller.
    Verdict handle(Slot from, const wire::Request& request, Output& replies);

    /// Other connections whose WAIT or BARRIER the requests since the last call have answered: each is to be sent one
    /// kStopWaiting for every time it is named.
    [[nodiscard]] const std::vector<Slot>& woken() const { return woken_; }
    void clear_woken() { woken_.clear(); }

    /// Ends the pending WAITs and BARRIERs of a connection; true if there were any. A BARRIER stays counted.
    bool give_up(Slot connection);
    /// The connection is gone.
    void close(Slot connection) { give_up(connection); }
    /// Removes every key and every queue. Pending WAITs and BARRIERs stay.
    void clear();

    /// The reply of GET: what a MULTI_GET answers for each of its keys.
    void get(std::string_view key, Output& replies) const;
    /// Large values that only replies hold.
    [[nodiscard]] Retired& retired() { return retired_; }

    /// Most keys for which one connection may wait at a time.
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
    std::optional<std::int64_t> add(std::string_view key, std::int64_t delta);
    void list_keys(Output& replies);

    [[nodiscard]] bool exists(std::string_view key) const;
    void put(std::string_view key, std::string_view value);
    void retire(const Value& value);
    bool pend(Slot from, std::span<const std::string_view> keys, std::size_t missing);
    static std::size_t line_bytes(std::string_view key);
    void take_place(Ticket& ticket, std::string_view key);
    void wake_all(std::string_view key);
    void wake_one(std::string_view key);
    void answer(Wait& wait);
    void unlink(Ticket& ticket);

    boost::unordered_flat_map<std::string, Value, Hash, std::equal_to<>> values_;
    boost::unordered_flat_map<std::string, Queue, Hash, std::equal_to<>> queues_;
    std::unordered_map<std::string, Line> lines_;  // tickets point into it: nodes that stay where they are
    std::vector<Waiter> waiters_;                  // by connection
    std::vector<Slot> woken_;
    const std::size_t most_pending_bytes_;
    std::size_t pending_bytes_ = 0;  // of tickets and lines
    Retired retired_;
    std::weak_ptr<const std::string> listing_;  // of all keys, while a reply holds it and no key has come or gone
    Slot current_ = 0;                          // whose request is under way
    Output* replies_ = nullptr;                 // where that connection's answers go
};

}  // namespace dlaunch::store
