#pragma once
/// The PMI-1 server of one node as a state machine without I/O: lines of the node's ranks and results of fences go in,
/// actions come out. dlaunch speaks version 1.1, as MPICH's client library does.
///
/// Key-value space: put() is visible to the node's own ranks at once, and to all ranks after the next barrier. When all
/// ranks of a node wait in a barrier, the node enters a fence (node_fence.hpp) with the keys put since the last one; at
/// the fence's end all nodes have the same keys, and the ranks go on.
///
/// A rank that has ended can never enter a barrier. Once another rank of its node waits, the ended one is the cause of
/// a failure. Ranks of other nodes may wait, too. A node with a rank that has ended without `cmd=init` enters the fence
/// with kGone and that rank instead of keys; the fence's end shows whether another node waits. If no rank of that node
/// lives any more, its part of the round is over, and a waiting node reports the failure.
///
/// Limits: a client cannot make the server keep more than kMostSpaceBytes of keys, kMostHeldBytes of requests, or a key
/// or value longer than the protocol's.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/mpi/pmi1_request.hpp"
#include "agent/services/round_service.hpp"

namespace dlaunch::agent {

struct Pmi1Action {
    enum class Kind : unsigned char {
        reply,      ///< send the line `text` to the rank
        fence,      ///< enter the next fence with `text`; answer: fenced()
        publish,    ///< make the name `text` known with `value`; answer: stored()
        unpublish,  ///< remove the name `text`; answer: stored()
        look_up,    ///< find the name `text`; answer: found()
        fail,       ///< the rank is the cause of a failure: `code` and `text` are the verdict
        fail_late,  ///< the same, unless another node reports a failure soon
        notice,     ///< print the line `text`
    };
    Kind kind = Kind::reply;
    int local_rank = 0;
    std::string text, value;
    int code = 0;

    friend bool operator==(const Pmi1Action&, const Pmi1Action&) = default;
};

/// One per round.
class Pmi1Server {
public:
    static constexpr std::size_t kMostKeyBytes = 64, kMostValueBytes = 1024;  ///< as Hydra's
    static constexpr std::size_t kMostNameBytes = 1024;                       ///< of a published name
    static constexpr std::size_t kMostSpaceBytes = 256UL << 20;               ///< 100,000 ranks put 2.6 KiB each
    static constexpr std::size_t kMostFenceBytes = 8UL << 20;  ///< what a node may put between two barriers
    static constexpr std::size_t kMostHeldBytes = 64UL << 10;  ///< of a rank's requests behind a pending one
    static constexpr std::string_view kGone = "gone ";         ///< no key has a blank

    struct Options {
        std::string space;  ///< name of the key-value space; the same on all nodes, another in each round
        int world_size = 1;
        std::vector<int> ranks;    ///< by local rank
        std::vector<int> appnums;  ///< by local rank
        std::string mapping;       ///< PMI_process_mapping
        bool alone = true;         ///< no other node takes part
    };
    explicit Pmi1Server(Options options);

    /// A line of the rank, without its end.
    void line(int local_rank, std::string_view line);
    /// The rank has sent kMostHeldBytes without an end of a line.
    void endless(int local_rank);
    /// The rank's process was reaped. A verdict: the exit is a failure, although the status is 0.
    [[nodiscard]] std::optional<Verdict> ended(int local_rank, int status);

    void fenced(const std::vector<std::string>& nodes);
    /// False: the name is another rank's, or there is no such name.
    void stored(int local_rank, bool done);
    void found(int local_rank, const std::optional<std::string>& value);

    /// The node has entered a fence with kGone.
    [[nodiscard]] bool has_sent_gone() const { return sent_gone_; }

    /// The actions since the last call, in order.
    [[nodiscard]] std::vector<Pmi1Action> take_actions() { return std::exchange(actions_, {}); }

private:
    enum class Pending : unsigned char { nothing, barrier, publish, unpublish, look_up };
    struct Client {
        bool has_init = false, has_finalized = false;
        bool is_given_up = false;  ///< it has aborted, or sent no PMI-1
        bool has_ended = false;    ///< the process
        Pending pending = Pending::nothing;
        std::deque<std::string> held;  ///< requests that arrived behind the pending one
        std::size_t held_bytes = 0;
        bool in_spawn = false;  ///< between "mcmd=spawn" and "endcmd"
        int spawns = 1, spawns_so_far = 1;
    };

    void handle(int local_rank, std::string_view line);
    void serve(int local_rank, const Pmi1Request& request);
    void init(int local_rank, const Pmi1Request& request);
    void put(int local_rank, const Pmi1Request& request);
    void get(int local_rank, const Pmi1Request& request);
    void name(int local_rank, const Pmi1Request& request);
    void spawn(int local_rank, std::string_view line);
    void abort(int local_rank, const Pmi1Request& request);
    void enter_barrier(int local_rank);
    void leave_barrier();
    void blame_for_barrier();
    void proceed(int local_rank);
    void keep(std::string_view key, std::string_view value);
    void merge(std::string_view lines);
    void give_up(int local_rank, std::string why);
    [[nodiscard]] bool any_waits() const;
    [[nodiscard]] bool is_ours(const Pmi1Request& request) const { return request.value("kvsname") == options_.space; }
    [[nodiscard]] Client& at(int local_rank) { return clients_[static_cast<std::size_t>(local_rank)]; }
    void reply(int local_rank, std::string line);
    void act(Pmi1Action::Kind kind, int local_rank, std::string text, std::string value = {}, int code = 0);

    const Options options_;
    std::vector<Client> clients_;  ///< by local rank
    std::map<std::string, std::string, std::less<>> space_;
    std::size_t space_bytes_ = 0;
    std::string unshared_;    ///< "key=value\n" of each put since the last fence
    bool in_fence_ = false;   ///< the node has entered a fence that has not ended
    bool sent_gone_ = false;  ///< with kGone
    std::vector<Pmi1Action> actions_;
};

}  // namespace dlaunch::agent
