#pragma once
/// The job's centre: who is there, which round runs, what went wrong, and when it is over. A state machine without I/O
/// and without a clock: messages, closed connections and times go in, messages to send come out.
///
///   gathering ──enough nodes──▶ running ──all report success──▶ over
///       ▲                          │ a failure, a loss, a leave, a newcomer
///       │ again                    ▼
///       └──────────────────── stopping ──no restart left, a stop──▶ over
///
/// `stopping` lasts until every member has said that none of its workers lives, or is lost for so long that it must
/// have killed them: no worker of a round lives when the next one starts. Each member gets its own assignment only, so
/// what an agent sends and receives does not grow with the job.
///
/// A coordinator with an epoch above 1 has taken over from another. It begins as `adopting`: when every member of the
/// running round comes to it in time, the round goes on and no worker is touched; else those who came are stopped.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/causes.hpp"
#include "rendezvous/rounds/restarts.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

/// Never 0, never used twice.
using ConnectionId = std::uint64_t;

enum class ScaleUp { immediate, on_restart, never };

class Coordinator {
public:
    struct Options {
        std::string version, job_id;
        std::string host;           ///< its node's name
        std::string role, program;  ///< its node's
        std::uint64_t epoch = 1;
        std::uint64_t incarnation = 0;
        int min_nodes = 1, max_nodes = 1;
        Milliseconds last_call{30'000};  ///< after min_nodes are there, before the first round; none when min = max
        Milliseconds join_timeout{600'000};
        Milliseconds node_timeout{5'000};  ///< silence after which a node is lost
        Milliseconds guard_time{200};      ///< what a dead agent's guard needs to end its workers
        Milliseconds progress{10'000};     ///< between two lines about who is missing
        Restarts::Limits restarts;
        ScaleUp scale_up = ScaleUp::immediate;
        std::string master_addr;                  ///< of the worker store; empty: the address of group rank 0's node
        std::optional<int> master_port;           ///< none: the port that group rank 0 opened
        std::vector<std::string> expected_hosts;  ///< where they are known
        bool fixed_ranks = false;                 ///< static: a rank has one node, and no other may wait for it
    };

    struct Send {
        std::vector<ConnectionId> to;
        Message message;
    };
    struct Close {
        ConnectionId connection;
    };
    using Action = std::variant<Send, Close>;

    enum class Phase { adopting, gathering, running, stopping, over };

    Coordinator(Options options, Time now);

    void received(Time now, ConnectionId connection, const Message& message);
    /// `by_its_end`: in order, by the other side or its kernel; else it broke, and the node may come back.
    void closed(Time now, ConnectionId connection, bool by_its_end);
    void tick(Time now);

    /// When tick() is due at the latest.
    [[nodiscard]] Time deadline() const;
    /// To be carried out in order, after each call above.
    [[nodiscard]] std::vector<Action> take_actions();

    /// The job is over and everybody knows, or has had the time to hear it.
    [[nodiscard]] bool finished() const { return phase_ == Phase::over && (nodes_.empty() || lingered_); }
    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] int round() const { return round_; }
    [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }

private:
    enum class Part : unsigned char { none, running, done, stopped };  ///< in the current round; none: a spare

    struct Node {
        NodeRecord record;
        std::uint64_t incarnation = 0, arrival = 0;
        ConnectionId connection = 0;  ///< 0: cut off, may come back
        Time last_heard;
        Part part = Part::none;
        std::optional<std::int32_t> last_rank;
        bool survivor = false;  ///< was in the latest round
        std::optional<Leave> leaving;
        Assigned assigned;  ///< to be said again after a cut
    };
    struct Peer {
        bool greeted = false;
        std::string node;  ///< empty until it joined
    };
    using Nodes = std::map<std::string, Node>;

    // coordinator.cpp: connections and nodes
    void on_hello(ConnectionId connection, const Hello& hello);
    void on_join(Time now, ConnectionId connection, const Join& join);
    void on_member(Time now, ConnectionId connection, Node& node, const Message& message);
    void resume(Time now, ConnectionId connection, Node& node, const Join& join);
    void admit(Time now, ConnectionId connection, const Join& join);
    void tell_what_holds(const Node& node, std::int32_t known_round);
    [[nodiscard]] const Node* holder_of(Time now, const NodeRecord& newcomer) const;
    void welcome(ConnectionId connection, const Join& join);
    [[nodiscard]] bool is_other_job(const NodeRecord& newcomer) const;
    void tell_other_terms(ConnectionId connection, const Join& join);
    void refuse(ConnectionId connection, bool come_anew, int status, std::string reason);
    void lose(Time now, Nodes::iterator node, bool by_its_end);
    void dismiss(Nodes::iterator node);
    void look_for_silent(Time now);
    void pass_time(Time now);
    void send(ConnectionId connection, Message message);
    void broadcast(const Message& message);
    [[nodiscard]] Stamp stamp() const { return {options_.epoch, round_, options_.incarnation}; }

    // coordinator_rounds.cpp: what the job does
    void on_report(Time now, Node& node, const Report& report);
    void on_leave(Time now, Node& node, const Leave& leave);
    void adopt(Time now, Node& node, const Join& join);
    void review(Time now);
    void gather(Time now);
    void try_start(Time now);
    void start(Time now, std::size_t limit);
    [[nodiscard]] static std::string reachable_for_all(const NodeRecord& host, const std::vector<Node*>& all);
    void assign(Node& node, const Assigned& assigned);
    void stop_round(Time now, const std::string& reason, const LostRanks& lost = {});
    void judge(Time now);
    void judge_failure(Time now);
    void tell_restart(const Cause& cause, const std::string& what);
    void on_join_timeout(Time now);
    void finish(Time now, int status, std::string reason, bool with_causes);
    void take_part_away(Node& node, Part part);
    [[nodiscard]] std::size_t limit() const;
    [[nodiscard]] std::string waiting() const;
    [[nodiscard]] bool about_to_end() const;
    [[nodiscard]] bool failure_ends_job() const;
    [[nodiscard]] bool enough_without(const Node& leaver) const;

    Options options_;
    Restarts restarts_;
    Phase phase_ = Phase::gathering;
    std::map<ConnectionId, Peer> peers_;
    Nodes nodes_;
    std::size_t connected_ = 0;                  ///< of nodes_; counted here, as ten thousand may join in a second
    std::map<std::string, std::uint64_t> lost_;  ///< id -> incarnation that is over
    std::vector<std::string> lost_hosts_;        ///< of the members that a gathering waits for
    std::set<std::string> programs_;             ///< that nodes have brought
    std::vector<Action> actions_;
    std::uint64_t arrivals_ = 0;

    std::int32_t round_ = -1;
    std::size_t unfinished_ = 0;  ///< members of the round of which something may run
    std::size_t group_size_ = 0;  ///< of the current round
    std::size_t first_size_ = 0;  ///< of the first round: the limit for ScaleUp::never
    Time round_began_{};
    Causes causes_;
    Time caused_at_{};        ///< when the first of them came
    bool blameless_ = false;  ///< this round's failures may follow from a loss or from our own stop
    std::string restart_reason_;
    LostRanks stopped_for_;       ///< what ended this round
    std::optional<End> verdict_;  ///< decided, said when everybody has stopped
    bool blame_ = false;          ///< the verdict names the round's causes
    bool failed_first_ = false;   ///< it yields to them: they were there before somebody was asked to end

    Time now_{};
    Time next_look_{}, gather_until_ = kNever, last_call_until_ = kNever, next_progress_ = kNever;
    Time not_before_{};  ///< of the next round: a back-off, a guard that sweeps
    Time adopt_until_ = kNever, linger_until_ = kNever;
    bool lingered_ = false;
};

}  // namespace dlaunch::rendezvous
