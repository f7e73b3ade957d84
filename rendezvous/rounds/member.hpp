#pragma once
/// One agent's part in a job: keeps the connection to the coordinator, says where the node stands, turns what comes
/// back into orders for the agent. A state machine without I/O and without a clock.
///
/// **The lease.** A beat carries the time at which it was sent, and the coordinator returns it. The node may run
/// workers for 0.8 of the job's node time-out after the youngest beat that came back was *sent*; the coordinator
/// declares a node lost a whole time-out after it last *received* something. So a node that is cut off, in whichever
/// direction, or that was frozen, has killed its workers before anybody counts on that; no clocks are compared.
///
/// **Incarnations.** After its lease a node is nobody. When nothing runs here any more it joins again with the next
/// incarnation number; what is said to or by an earlier one is refused.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

/// How an attempt to reach the coordinator failed.
struct ConnectFailure {
    bool refused = false;   ///< the machine answered: nobody listens there
    std::string text;       ///< "node1:29400: Connection refused"
    bool stranger = false;  ///< what listens there is no coordinator, and will not become one
};

class Member {
public:
    struct Options {
        std::string version, job_id;
        NodeRecord record;
        std::optional<Terms> terms = std::nullopt;
        std::string coordinator;             ///< where it is, for humans
        bool fixed_coordinator = true;       ///< static discovery: when it is dead nobody takes over
        Milliseconds join_timeout{600'000};  ///< until the first answer
        Milliseconds rejoin_timeout{60'000};
        Milliseconds dial_timeout{1'000};
        Milliseconds first_retry{5}, most_retry{500};
        Milliseconds progress{10'000};
    };

    struct Connect {};     ///< dial; an earlier connection is given up without a farewell (reset)
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
    struct CloseRound {};  ///< a round that was over here has ended everywhere: who needs what this node served?
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

    /// `jitter` spreads the retries of many members that lost the same coordinator; any number.
    Member(Options options, Time now, std::uint64_t jitter);

    void connected(Time now);
    void connect_failed(Time now, const ConnectFailure& failure);
    void received(Time now, const Message& message);
    /// `by_its_end`: in order, by the other side or its kernel.
    void closed(Time now, bool by_its_end);
    void tick(Time now);

    /// What the agent says.
    void failed(Time now, const Cause& cause);
    void round_over(Time now, bool succeeded, const std::optional<Cause>& cause);
    /// The job's answer ends it, which may take as long as the other nodes' workers need to stop; or the lease does.
    void leave(Leave::Scope scope, std::int32_t status, const std::string& reason, bool workers_too = false);
    /// After leave(): whatever it waits for is to end sooner.
    void hurry();
    /// Somebody else has ended this node's workers in our place: as if the lease were over.
    void fenced_by_guard(Time now, const std::string& reason);

    [[nodiscard]] Time deadline() const;
    /// Until when workers may live here without another word: what the guard of an agent that may freeze must know. Not
    /// counted from the agent's last sign of life, which may come after a cut of some seconds. A little after the
    /// lease: an agent that is awake acts first. kNever: nothing runs.
    [[nodiscard]] Time lease_until() const { return runs_ ? lease_from_ + node_timeout_ * 17 / 20 : kNever; }
    [[nodiscard]] std::vector<Action> take_actions();
    [[nodiscard]] bool ended() const { return ended_; }

private:
    enum class Link : unsigned char { down, dialing, open, welcome };

    void dial(Time now);
    void on_welcome(Time now, const Welcome& welcome);
    void on_refused(Time now, const Refused& refused);
    void on_assigned(Time now, const Assigned& assigned);
    void on_stop(Time now, const StopRound& stop);
    void renew(Time now, std::uint64_t beat);
    void fence(Time now, const std::string& reason);
    void come_anew(Time now);
    void end(EndJob how);
    void end_by_itself(std::int32_t status, const std::string& reason);
    void lose_coordinator(Time now);
    void check_lease(Time now);
    void keep_link(Time now);
    void say_report();
    void send(Message message);
    [[nodiscard]] bool speaks_for(const Stamp& stamp) const;
    [[nodiscard]] Stamp stamp() const { return {epoch_, round_, incarnation_}; }
    [[nodiscard]] Milliseconds beat_interval() const;
    [[nodiscard]] Milliseconds dial_timeout() const;
    [[nodiscard]] std::string coordinator_name() const;
    [[nodiscard]] std::string unreachable() const;

    Options options_;
    std::vector<Action> actions_;
    std::uint64_t random_;

    Link link_ = Link::down;
    Milliseconds retry_{0};
    Time dial_at_{};  ///< when down
    Time dialed_at_{};
    int dials_ = 0;  ///< in a row without any answer before this one
    Time last_heard_{}, next_beat_ = kNever;
    Time orphan_until_ = kNever;  ///< the fixed coordinator has closed in order: it must be there again by then
    Time give_up_at_;             ///< nobody has answered by then
    Time next_progress_;
    std::string last_failure_;
    bool told_silence_ = false;
    bool in_ = false;      ///< the job has taken this incarnation in
    bool was_in_ = false;  ///< this one or an earlier one

    std::uint64_t epoch_ = 0, incarnation_ = 1;
    std::uint64_t coordinator_ = 0;  ///< its incarnation
    std::string coordinator_host_;
    Milliseconds node_timeout_{5'000};
    Time lease_from_{};

    std::int32_t round_ = -1;
    std::int32_t latest_round_ = -1;  ///< of the job, with us or without
    std::optional<Standing> standing_;
    std::optional<std::int32_t> last_group_rank_;
    bool runs_ = false;             ///< workers of round_ may live
    bool fenced_ = false;           ///< they have been killed; afterwards this incarnation is over
    std::optional<Report> report_;  ///< the latest about round_, to be said again after a cut
    std::optional<Leave> leaving_;
    std::optional<EndJob> end_when_stopped_;
    bool ended_ = false;
};

}  // namespace dlaunch::rendezvous
