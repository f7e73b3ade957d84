#pragma once
/// Decides how the requests of a node's workers share one trunk (wire/trunk.hpp) to the round's store. No I/O.
///
/// Each worker's connection has a channel of its own, in which its requests travel in order. Four kinds of requests
/// are *calls* instead, each in a channel that it borrows:
///
///   WAIT      joins an equal WAIT that is pending, if no worker of the node has removed a key since: the store
///             receives one per node, and the number of its waiting workers, because an item of a queue is for one
///             of them. A joined WAIT counts keys that have existed since the first of them, also if another node has
///             removed them. Its answer delays no other reply, so it needs a channel of its own.
///   BARRIER   likewise, but is never joined: the store counts each.
///   GET       joins an equal GET that has not left yet, if nothing was changed in between. A GET that has left is
///             not joined: its value may be older than a SET that this worker has made or seen.
///   ADD       joins an ADD to the same key that has not left yet, if only ADDs to other keys came in between: the
///             store receives their sum, once. Each worker receives the sum that the key had after its own share, as
///             if the ADDs had left one by one. A share counts even if its worker has gone, as at the store itself.
///
/// All other requests are passed on unchanged. The store executes frames in their order, so a worker finds its own
/// changes. A worker of torch 1.13 gives its WAITs up with its next request.
///
/// **Bounds.** The store sends no more than a window of a channel's replies before this proxy grants more, which it
/// does when the worker has read them. A worker with many requests whose replies are due is put on hold.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "rendezvous/base/connection_id.hpp"
#include "rendezvous/wire/reply_reader.hpp"
#include "rendezvous/wire/tcpstore.hpp"
#include "rendezvous/wire/trunk.hpp"

namespace dlaunch::store {

class Proxy {
public:
    using Local = base::ConnectionId;  ///< a worker's connection

    struct Deliver {
        Local to;
        std::string bytes;
    };
    struct Drop {  ///< close the connection; closed() need not follow
        Local client;
    };
    struct Hold {  ///< take no further requests from it while `on`
        Local client;
        bool on;
    };
    using Action = std::variant<Deliver, Drop, Hold>;

    /// A worker's request. False: it is over a limit; finished() must follow.
    [[nodiscard]] bool request(Local from, const wire::Request& request, wire::Numbering numbering);
    /// A worker sends no further requests: it is dropped when the replies that are due have come.
    void finished(Local client);
    /// A worker's connection has ended.
    void closed(Local client);
    /// The worker has read all its replies.
    void drained(Local client);

    /// A frame from the store. False: the store breaks the protocol, close the trunk; lost() must follow.
    [[nodiscard]] bool received(const wire::TrunkFrame& frame);
    /// The trunk has ended: with it every connection that has used it. The next request needs a new one.
    void lost();

    /// Actions for the workers.
    [[nodiscard]] std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
    /// The frames for the store, in order. They count as having left.
    [[nodiscard]] std::string take_frames();
    [[nodiscard]] bool has_frames() const { return !frames_.empty() || !adds_.empty(); }
    [[nodiscard]] std::size_t frame_bytes() const { return frames_.size(); }

    /// Most pending WAITs and BARRIERs of one worker, and most requests whose replies are due.
    static constexpr std::size_t kMostWaits = 1024, kMostDue = 64;
    /// Most ADDs that are compared with each other.
    static constexpr std::size_t kMostAdds = 64;

private:
    /// A reply that is due, in the order of the requests.
    struct Due {
        enum class Source : std::uint8_t { own, call, text };
        Source source;
        wire::ReplyReader reader;  ///< of Source::own
        std::uint64_t sent = 0;    ///< Client::sent after this request
        std::string text;
        bool has_begun = false;
    };
    struct Client {
        wire::Channel channel = 0;  ///< 0: not used yet
        std::deque<Due> due;
        std::vector<wire::Channel> waits;  ///< calls that it waits for
        std::uint64_t sent = 0;            ///< bytes of requests in its channel
        std::string early;                 ///< replies in its channel, while a call's reply is due first
        std::size_t owed = 0;              ///< delivered bytes of its channel, without a credit yet
        std::size_t late_answers = 0;      ///< of WAITs, behind the reply that has begun
        wire::Channel call = 0;            ///< of the GET or ADD that is due first; 0: none
        bool adds = false;                 ///< has one in adds_
        bool on_hold = false;
        bool finished = false;
        bool refused = false;  ///< by the store, which answers no request after the call that is due
    };
    struct Caller {
        Local client;
        std::uint64_t sum = 0;  ///< of the shares in an ADD, up to its own
    };
    struct Call {
        wire::StoreOperation operation;
        std::string request;          ///< encoded; of a WAIT, BARRIER or GET
        std::vector<Caller> callers;  ///< that wait for it
        wire::ReplyReader reader;     ///< of a GET or ADD
        std::size_t owed = 0;         ///< as of a client
        bool canceled = false;        ///< its answer and then kWaitCanceled come, or the latter alone
        std::uint64_t sum = 0;        ///< of an ADD: of all shares
        std::string reply{};          ///< of an ADD, incomplete
    };
    struct Add {
        Local from;
        std::string key;
        std::uint64_t share;
        bool is_sent = false;
    };

    struct Idle {
        wire::Channel channel;
        std::size_t owed;  ///< as of a call
    };

    void wait(Local from, Client& client, const wire::Request& request);
    void get(Local from, Client& client, const wire::Request& request);
    void add(Local from, Client& client, const wire::Request& request);
    void send_adds();
    void send_sum(std::size_t first);
    void pass_on(Local from, Client& client, const wire::Request& request);
    wire::Channel begin_call(Local from, const wire::Request& request, std::string bytes);
    void end_own_channel(Local id);
    void drop(Local id);
    void drop_call(wire::Channel channel, Call& call);
    void leave_call(Local client, wire::Channel channel);
    void give_up_waits(Local from, Client& client);
    bool take_reply(Local to, Client& client, std::string_view bytes);
    bool take_call(wire::Channel channel, Call& call, std::string_view bytes);
    bool take_sum(wire::Channel channel, Call& call, std::string_view bytes);
    bool end_reply(Local to, Client& client);
    void end_wait(wire::Channel channel, Call& call, std::uint8_t by);
    void answer(Local to, wire::Channel channel);
    void end_due(Local to, Client& client);
    void close_channel(wire::Channel channel);
    void end_call(wire::Channel channel);
    void grant(wire::Channel channel, std::size_t& owed);
    void review_hold(Local id, Client& client);
    void deliver(Local to, std::string_view bytes) { actions_.push_back(Deliver{to, std::string(bytes)}); }

    std::unordered_map<Local, Client> clients_;
    std::unordered_map<wire::Channel, Local> owners_;  ///< of channels in use by clients
    std::unordered_map<wire::Channel, Call> calls_;
    std::unordered_map<std::string, wire::Channel> waits_;  ///< pending WAITs that may be joined, by request
    std::unordered_map<std::string, wire::Channel> gets_;   ///< GETs that have not left, likewise
    std::vector<Add> adds_;   ///< not in frames_ yet; one of a client, whose `due` is empty
    std::vector<Idle> idle_;  ///< borrowed channels that were given back
    wire::Channel last_ = 0;
    std::string frames_;
    std::vector<Action> actions_;
};

}  // namespace dlaunch::store
