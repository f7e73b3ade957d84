#pragma once
/// One agent's side of a job: keeps the connection to the coordinator, reports the node's state, and turns messages
/// into orders for the agent. A state machine without I/O and without a clock.
///
/// **The lease.** A beat carries the time at which it was sent, and the coordinator returns it. Workers may live for
/// member_lease() after the youngest answered beat was *sent*; the coordinator counts a node as lost a whole node
/// time-out after it last *received* something. So a node that is cut off, in whichever direction, or that was frozen,
/// has killed its workers before the coordinator counts on that; no clocks are compared.
///
/// **Cuts and deaths.** A connection that closes, in whatever way, is a cut: the member dials again. A coordinator
/// whose place is fixed is gone when a dial is refused, or when it closed in order and nothing accepted until the lease
/// ended.
///
/// **Incarnations.** When its lease is over a node kills its workers, and joins again with the next incarnation number
/// once nothing runs; messages to or from an earlier incarnation are refused. A node where nothing runs keeps an
/// undelivered success: no lease binds it, and the coordinator may still accept it.
///
/// **Succession.** Messages count from one coordinator only: epoch and incarnation are those of the latest Welcome. A
/// coordinator with a lower epoch has been replaced; its messages and the end of its connection are ignored.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/lease.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

/// How an attempt to reach the coordinator failed.
struct ConnectFailure {
    bool refused = false;   ///< the machine answered: no process listens there
    std::string text;       ///< "node1:29400: Connection refused"
    bool stranger = false;  ///< what listens there is no coordinator, and will not become one
};

class Member {
public:
    struct Options {
        std::string version, job_id;
        NodeRecord record;
        std::optional<JobConfig> told = std::nullopt;  ///< the job's options as this node's user gave them
        std::string coordinator;                       ///< where it is, for messages
        bool fixed_coordinator = true;       ///< static discovery: a dead coordinator has no successor elsewhere
        Milliseconds join_timeout{600'000};  ///< until the first answer
        Milliseconds rejoin_timeout{60'000};
        Milliseconds dial_timeout{1'000};    ///< until connected
        Milliseconds answer_timeout{1'000};  ///< until the first answer: a frozen host's kernel still accepts
        Milliseconds first_retry{5}, most_retry{500};
        Milliseconds progress{10'000};
    };

    struct Connect {};     ///< dial; an earlier connection is reset
    struct Disconnect {};  ///< close in order
    struct SendOut {
        Message message;
    };
    struct StartWorkers {
        Assigned assigned;
    };
    struct StopWorkers {
        std::string reason;
        LostRanks lost{};
    };
    struct CloseRound {};  ///< a round that was over here has ended everywhere: its worker store may close
    struct KillWorkers {   ///< without grace
        std::string reason;
    };
    struct TellUser {
        std::string text;
    };
    struct EndJob {  ///< the last action; nothing runs here
        std::int32_t status = 0;
        std::string reason;
        std::vector<std::string> records;
    };
    using Action = std::variant<Connect, Disconnect, SendOut, StartWorkers, StopWorkers, CloseRound, KillWorkers,
                                TellUser, EndJob>;

    /// `jitter` spreads beats and retries of many members; any number.
    Member(Options options, Time now, std::uint64_t jitter);

    void connected(Time now);
    void connect_failed(Time now, const ConnectFailure& failure);
    void received(Time now, const Message& message);
    /// `by_its_end`: in order, by the other side or its kernel; else it broke.
    void closed(Time now, bool by_its_end = false);
    /// The coordinator of `epoch` is elsewhere (0: its epoch is not known); the next Connect goes there.
    void moved(Time now, std::uint64_t epoch);
    void tick(Time now);

    // --- from the agent ---
    void failed(Time now, const Cause& cause);
    void round_over(Time now, bool succeeded, const std::optional<Cause>& cause);
    /// The job's answer ends it, which may take as long as the other nodes' workers need to stop; or the lease does.
    void leave(Leave::Scope scope, std::int32_t status, const std::string& reason, bool workers_too = false);
    /// After leave(): whatever it waits for is to end sooner.
    void hurry();
    /// The node ends without the job's verdict, because its guard died: no worker of it lives.
    void gone();
    /// The guard has killed the workers: as if the lease were over.
    void fenced_by_guard(Time now, const std::string& reason);

    [[nodiscard]] Time deadline() const;
    /// Until when the guard lets workers live here: a little longer than the agent, which acts first when it is awake.
    /// kNever: nothing runs.
    [[nodiscard]] Time lease_until() const { return runs_ ? lease_from_ + guard_lease(node_timeout()) : kNever; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    [[nodiscard]] std::vector<Action> take_actions();
    [[nodiscard]] bool ended() const { return ended_; }

    virtual ~Member() = default;
    Member(Member&&) = default;
    Member& operator=(Member&&) = default;

protected:
    // What a mutated machine of the tests breaks.
    [[nodiscard]] virtual Milliseconds lease() const { return member_lease(node_timeout()); }
    [[nodiscard]] Milliseconds node_timeout() const { return job_ ? job_->node_timeout : kUnknownTimeout; }

private:
    static constexpr Milliseconds kUnknownTimeout{5'000};  ///< before the first Welcome
    enum class Link : unsigned char { down, dialing, open, welcome };

    void dial(Time now);
    void on_welcome(Time now, const Welcome& welcome);
    void on_refused(Time now, const Refused& refused);
    void on_assigned(Time now, const Assigned& assigned);
    void on_stop(Time now, const StopRound& stop);
    void renew(Time now, std::uint64_t beat);
    void fence(Time now, const std::string& reason);
    void give_incarnation_up(Time now, const std::string& reason);
    void rejoin(Time now);
    void end(EndJob how);
    void end_by_itself(std::int32_t status, const std::string& reason);
    void lose_coordinator(Time now);
    void check_lease(Time now);
    void keep_link(Time now);
    void send_report();
    void send(Message message);
    [[nodiscard]] bool counts(const Stamp& stamp) const;
    [[nodiscard]] Milliseconds jittered(Milliseconds time);
    [[nodiscard]] Stamp stamp() const { return {epoch_, round_, incarnation_}; }
    [[nodiscard]] Milliseconds dial_timeout() const;
    [[nodiscard]] Milliseconds patience() const;
    [[nodiscard]] std::string coordinator_name() const;
    [[nodiscard]] std::string unreachable() const;

    Options options_;
    std::vector<Action> actions_;
    std::uint64_t random_;

    Link link_ = Link::down;
    Milliseconds retry_{0}, patience_{0};
    Time dial_at_{};  ///< when down
    Time dialed_at_{};
    int dials_ = 0;       ///< in a row without a connection before this one
    int unanswered_ = 0;  ///< connections in a row without a Welcome
    Time last_received_{}, next_beat_ = kNever;
    Time give_up_at_;  ///< unless a coordinator has answered by then
    Time next_progress_;
    std::string last_failure_;
    bool reported_silence_ = false;
    bool in_ = false;      ///< the job has taken this incarnation in
    bool was_in_ = false;  ///< this one or an earlier one

    std::uint64_t epoch_ = 0, incarnation_ = 1;
    std::uint64_t coordinator_ = 0;  ///< its incarnation
    std::string coordinator_host_;
    std::optional<JobConfig> job_;  ///< as the latest coordinator sent it
    Time lease_from_{};
    bool hung_up_ = false;  ///< the coordinator closed in order, and nothing has accepted a connection since
    bool lapsed_ = false;   ///< the lease is over, but nothing runs that it would bind

    std::int32_t round_ = -1;
    std::int32_t latest_round_ = -1;       ///< of the job, with us or without
    std::optional<RunningRound> running_;  ///< the round that this node was placed in
    std::optional<std::int32_t> last_group_rank_;
    bool runs_ = false;             ///< workers of round_ may live
    bool fenced_ = false;           ///< they have been killed; afterwards this incarnation is over
    std::optional<Report> report_;  ///< the latest about round_, to be sent again after a cut
    std::optional<Leave> leaving_;
    std::optional<EndJob> end_when_stopped_;
    bool ended_ = false;
};

}  // namespace dlaunch::rendezvous
