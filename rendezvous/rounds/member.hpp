#pragma once
/// One agent's side of a job: keeps the connection to the coordinator, reports the node's state, and turns messages
/// into orders for the agent. A state machine without I/O and without a clock.
///
/// **The lease.** A beat carries its sending time, and the coordinator returns it. Workers may live for member_lease()
/// after the latest answered beat was *sent*; the coordinator evicts a node one node time-out after it last *received*
/// a message of that node. Therefore a node that is cut off in either direction, or frozen, has killed its workers (its
/// guard does so for a frozen agent) before the coordinator evicts it. No clocks are compared.
///
/// **Cuts and deaths.** Every closed connection is a cut: the member redials. A coordinator at a fixed endpoint is lost
/// when all its addresses refuse a dial, or when it closed with FIN and only failed dials followed before the lease
/// ended. Without a dial since the FIN, the member was frozen, and the coordinator may have evicted it: it rejoins.
///
/// **Incarnations.** When its lease ends a node kills its workers, and once they are dead rejoins with the next
/// incarnation number; messages to or from an earlier incarnation are refused. A node whose workers have succeeded, or
/// that waits for a round, redials with the same incarnation instead: nothing is left to fence, and the coordinator may
/// still accept the report, or may have assigned a waiting node whose Join it had just received.
///
/// **Succession.** A member accepts messages of one coordinator only: epoch and incarnation are those of the latest
/// Welcome. A coordinator with a lower epoch has been replaced; its messages and closed connections are ignored.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/lease.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

/// A failed attempt to reach the coordinator.
struct ConnectFailure {
    bool refused = false;          ///< every address refused: no process listens there
    std::string text;              ///< "node1:29400: Connection refused"
    bool foreign_service = false;  ///< another service listens there; retries are useless
    std::string refusal{};         ///< a coordinator refuses this node for its token; empty: none does
    bool has_more = false;         ///< another address has not been tried yet
};

class Member {
public:
    struct Options {
        std::string version, job_id;
        NodeRecord record;
        std::optional<JobConfig> own_config = std::nullopt;  ///< the job's options as this node's user gave them
        std::string coordinator;                             ///< its address, for messages
        std::string port_owner;  ///< the process on this node that has the coordinator's port; empty: none is known
        bool fixed_coordinator = true;       ///< static discovery: a dead coordinator has no successor elsewhere
        Milliseconds join_timeout{600'000};  ///< until the first answer
        Milliseconds rejoin_timeout{60'000};
        Milliseconds dial_timeout{1'000};    ///< until connected
        Milliseconds answer_timeout{1'000};  ///< until the first answer: a frozen host's kernel still accepts
        Milliseconds first_retry{5}, most_retry{500};
        Milliseconds first_progress{3'000}, progress{10'000};  ///< until the first line about the wait, between two
    };

    struct Connect {};     ///< dial; an earlier connection is reset
    struct Disconnect {};  ///< close with FIN
    struct SendOut {
        Message message;
    };
    struct StartWorkers {
        Assigned assigned;
    };
    struct StopWorkers {
        std::string reason;
        LostRanks lost{};
        std::int32_t signal = 0;   ///< to the workers; 0: the one for a failure elsewhere
        bool timed_out = false;    ///< StopRound::timed_out
        bool unclear = false;      ///< StopRound::unclear
        bool for_failure = false;  ///< StopRound::for_failure
        bool hung = false;         ///< StopRound::hung
    };
    struct CloseRound {};  ///< the round has ended on all nodes, after its end here: its worker store may close
    struct KillWorkers {   ///< without grace
        std::string reason;
        int signal = 0;  ///< StopRound::signal
    };
    struct PrintLine {
        std::string text;
        bool about_node = false;  ///< and not about the job
        std::string cause{};      ///< Notice::cause
        std::string message{};    ///< Notice::message
    };
    struct NameStandbys {
        std::vector<StandbyPlace> others;  ///< without this node: to be dialed after the coordinator's address
        bool is_one = false;               ///< this node watches the claim
    };
    struct EndJob {  ///< the last action; nothing runs here
        std::int32_t status = 0;
        std::string reason;
        std::vector<std::string> records;
        RankOutcomes outcomes{};
        std::int32_t named_rank = -1;  ///< Verdict::named_rank
    };
    using Action = std::variant<Connect, Disconnect, SendOut, StartWorkers, StopWorkers, CloseRound, KillWorkers,
                                PrintLine, NameStandbys, EndJob>;

    /// `jitter` spreads beats and retries of many members; any number.
    Member(Options options, Time now, std::uint64_t jitter);

    void connected(Time now, const GoodbyeHashes& goodbye = {});
    void connect_failed(Time now, const ConnectFailure& failure);
    void received(Time now, const Message& message);
    /// `by_fin`: with FIN, by the coordinator or its kernel; else by an error.
    void closed(Time now, bool by_fin = false);
    /// The coordinator of `epoch` (0: unknown) has another address, which the next Connect dials.
    void moved(Time now, std::uint64_t epoch);
    void tick(Time now);

    // --- from the agent ---
    void failed(Time now, const Cause& cause);
    /// Before round_over(): the ports of the worker store and of JAX's coordinator, if this node is to have them in the
    /// next round.
    void set_ports(std::int32_t store, std::int32_t jax) {
        options_.record.store_port = store;
        options_.record.jax_port = jax;
    }
    /// NodeRecord::standby_port of later joins.
    void set_standby_port(std::int32_t port) { options_.record.standby_port = port; }
    void round_over(Time now, bool succeeded, const std::optional<Cause>& cause, const RankOutcomes& outcomes = {});
    /// Requests to leave. EndJob follows at the coordinator's answer (it may first stop the workers of other nodes), or
    /// at the end of the lease; at once if this node has not joined.
    void leave(Leave::Scope scope, std::int32_t status, const std::string& reason, bool workers_too = false);
    /// After leave(): requests the end without grace for workers (Leave::at_once). Without a connection to the
    /// coordinator the node ends at once.
    void leave_at_once();
    /// The node ends without the job's verdict, because its guard died. None of its workers lives.
    void gone();
    /// The verdict of this node's own coordinator, which may have exited.
    void job_is_over(const Verdict& verdict) {
        end({verdict.status, verdict.reason, verdict.records, verdict.outcomes, verdict.named_rank});
    }
    /// No further coordinator can follow: ends with 81.
    void lose_coordinator();
    /// If the coordinator has received no later message of this node, it has evicted the node by then. kNever before
    /// the first Welcome.
    [[nodiscard]] Time evicted_by() const { return ever_welcomed_ ? lease_from_ + node_timeout() : kNever; }
    /// The guard has killed the workers, as at the end of the lease.
    void fenced_by_guard(Time now, const std::string& reason);

    [[nodiscard]] Time deadline() const;
    /// The time at which the guard kills the workers: a little later than the agent itself would. kNever: no worker
    /// runs.
    [[nodiscard]] Time lease_until() const { return runs_ ? lease_from_ + guard_lease(node_timeout()) : kNever; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    [[nodiscard]] std::vector<Action> take_actions();
    [[nodiscard]] bool ended() const { return ended_; }

    virtual ~Member() = default;
    Member(Member&&) = default;
    Member& operator=(Member&&) = default;

protected:
    // Overridden by mutated machines in tests.
    [[nodiscard]] virtual Milliseconds lease() const { return member_lease(node_timeout()); }
    [[nodiscard]] virtual bool is_stale(std::uint64_t epoch) const { return epoch < epoch_; }
    [[nodiscard]] Milliseconds node_timeout() const { return job_ ? job_->node_timeout : kUnknownTimeout; }

private:
    static constexpr Milliseconds kUnknownTimeout{5'000};  ///< before the first Welcome
    enum class Link : unsigned char { down, dialing, open, welcome };

    void dial(Time now);
    void on_welcome(Time now, const Welcome& welcome);
    void on_refused(Time now, const Refused& refused);
    void on_assigned(Time now, const Assigned& assigned);
    void on_stop(Time now, const StopRound& stop);
    void on_standbys(const Standbys& standbys);
    void renew(Time now, std::uint64_t beat);
    void fence(Time now, const std::string& reason);
    void give_incarnation_up(Time now, const std::string& reason);
    void rejoin(Time now);
    void end(EndJob how);
    void end_by_itself(std::int32_t status, const std::string& reason);
    void check_lease(Time now);
    void keep_link(Time now);
    void send_report();
    void send(Message message);
    [[nodiscard]] bool counts(const Stamp& stamp) const;
    [[nodiscard]] Milliseconds jittered(Milliseconds time);
    [[nodiscard]] Stamp stamp() const { return {epoch_, round_, incarnation_}; }
    [[nodiscard]] std::optional<RunningRound> running_round(Time now) const;
    [[nodiscard]] std::optional<JobProgress> progress(Time now) const;
    void pace_beats(Time now, Milliseconds pause);
    [[nodiscard]] Milliseconds dial_timeout() const;
    [[nodiscard]] Milliseconds most_retry() const;
    [[nodiscard]] Milliseconds patience() const;
    [[nodiscard]] std::string coordinator_name() const;
    [[nodiscard]] std::string unreachable() const;

    Options options_;
    std::vector<Action> actions_;
    std::uint64_t random_;

    Link link_ = Link::down;
    Milliseconds retry_{0}, patience_{0}, beat_pause_{0};
    Time dial_at_{};  ///< when down
    Time dialed_at_{};
    int dials_ = 0;       ///< in a row without a connection before this one
    int unanswered_ = 0;  ///< connections in a row without a Welcome
    Time last_received_{}, next_beat_ = kNever;
    Time give_up_at_;  ///< unless a coordinator has answered by then
    Time next_progress_;
    std::string last_failure_;
    bool reported_silence_ = false;
    bool welcomed_ = false;       ///< the coordinator has admitted this incarnation
    bool ever_welcomed_ = false;  ///< ... or an earlier one

    std::uint64_t epoch_ = 0, incarnation_ = 1;
    std::uint64_t coordinator_ = 0;  ///< its incarnation
    std::string coordinator_host_;
    std::optional<JobConfig> job_;  ///< as the latest coordinator sent it
    std::optional<JobProgress> progress_;
    Time lease_from_{};
    bool closed_by_fin_ = false;    ///< the coordinator closed with FIN, and no dial has succeeded since
    bool accepts_nothing_ = false;  ///< ... and a dial has failed since
    bool lease_over_ = false;       ///< the lease is over, but no worker runs

    std::int32_t round_ = -1;
    std::int32_t latest_round_ = -1;       ///< of the job, with or without this node
    std::optional<RunningRound> running_;  ///< the round that this node was placed in
    Time assigned_at_{};                   ///< to that round
    std::optional<std::int32_t> last_group_rank_;
    bool runs_ = false;             ///< workers of round_ may live
    bool fenced_ = false;           ///< the workers are being killed; then this incarnation ends
    std::optional<Report> report_;  ///< the latest about round_, to be sent again after a cut
    std::optional<Leave> leaving_;
    bool leaves_first_ = false;  ///< the leave came before the report, and is sent before it
    std::optional<EndJob> end_when_stopped_;
    bool ended_ = false;
};

}  // namespace dlaunch::rendezvous
