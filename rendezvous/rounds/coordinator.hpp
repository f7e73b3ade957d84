#pragma once
/// The job's centre: which nodes are there, which round runs, what went wrong, and when the job is over. A state
/// machine without I/O and without a clock: messages, closed connections and times go in, messages to send come out.
///
///   adopting ──every member of the running round has come──▶ running
///       │ not all have come in time; or its stop goes on: stopping
///       ▼
///   gathering ──enough nodes──▶ running ──all report success──▶ over
///       ▲                          │ a failure, a loss, a leave, newcomers
///       │ again                    ▼
///       └──────────────────── stopping ──no restart left, a stop──▶ over
///
///   any phase ──its lease ends, a higher epoch, resign()──▶ deposed
///
/// `stopping` lasts until every member has reported that none of its workers lives, or has been silent for so long that
/// it must have killed them: no worker of a round lives when the next one starts. Each member gets its own assignment
/// only, so what an agent sends and receives does not grow with the job.
///
/// **Succession.** A successor begins with the snapshot of its predecessor where it has one, else with what members
/// report; its own options count for nothing then. It is `adopting` until every member of the running round has joined:
/// the round goes on and no worker is touched. It starts no *new* round before every member that has not joined must
/// have fenced itself. Decisions are recorded (Record) before any member is informed of them, so a successor of a
/// coordinator that died between two messages decides the same. Once `deposed`, it answers nothing and renews no lease.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/rounds/blame.hpp"
#include "rendezvous/rounds/cooldowns.hpp"
#include "rendezvous/rounds/restarts.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/wire/job.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Coordinator {
public:
    struct Options : JobConfig {
        std::string version, job_id;
        std::string host;           ///< its node's name
        std::string role, program;  ///< its node's
        std::uint64_t epoch = 1;    ///< higher than any earlier coordinator's of this job
        std::uint64_t incarnation = 0;
        bool succeeds = false;                    ///< another coordinator of this job may have served before
        std::optional<Snapshot> snapshot;         ///< the latest Record of that one, where it is known
        Milliseconds progress{10'000};            ///< between two lines about missing nodes
        std::vector<std::string> expected_hosts;  ///< where they are known
    };

    struct Send {
        std::vector<ConnectionId> to;
        Message message;
    };
    struct Close {
        ConnectionId connection;
    };
    /// To be kept for a successor before the actions behind it are carried out.
    struct Record {
        Snapshot snapshot;
    };
    using Action = std::variant<Send, Close, Record>;

    enum class Phase { adopting, gathering, running, stopping, over, deposed };

    Coordinator(Options options, Time now);

    void received(Time now, ConnectionId connection, const Message& message);
    /// `by_its_end`: in order, by the other side or its kernel. Either way the node may come back.
    void closed(Time now, ConnectionId connection, bool by_its_end);
    void tick(Time now);

    /// The coordinator's own lease: from `until` on it is deposed. Without any call it has no lease and serves for
    /// ever.
    void granted(Time until);
    /// Hands over: records the latest snapshot and is deposed.
    void resign(Time now);
    /// The operator ends the job everywhere; workers have their grace. `at_once`: they have it no more.
    void end_job(Time now, int status, const std::string& reason, bool at_once = false);

    /// When tick() is due at the latest.
    [[nodiscard]] Time deadline() const;
    /// To be carried out in order, after each call above.
    [[nodiscard]] std::vector<Action> take_actions();

    /// The job is over, and every node that lives has received it.
    [[nodiscard]] bool finished() const;
    [[nodiscard]] bool deposed() const { return phase_ == Phase::deposed; }
    /// Why it is deposed, for a log.
    [[nodiscard]] const std::string& deposed_reason() const { return deposed_reason_; }
    /// The highest epoch that a member reported; the next coordinator's must be higher.
    [[nodiscard]] std::uint64_t highest_epoch() const { return highest_epoch_; }
    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] int round() const { return round_; }
    [[nodiscard]] std::size_t nodes() const { return roster_.size(); }
    [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }
    [[nodiscard]] const JobConfig& config() const { return job_; }
    [[nodiscard]] Snapshot snapshot() const;
    /// Counters against the nodes; for tests.
    [[nodiscard]] bool is_consistent() const { return roster_.is_consistent(); }

protected:
    // What a mutated machine of the tests breaks.
    [[nodiscard]] virtual Milliseconds silence_limit() const { return job_.node_timeout; }
    [[nodiscard]] virtual bool round_has_stopped() const {
        return roster_.count(MemberState::running) == 0 && !awaits_members();
    }
    [[nodiscard]] virtual Time earliest_start() const { return not_before_; }
    [[nodiscard]] virtual bool lease_has_ended(Time now) const { return now >= lease_until_; }
    [[nodiscard]] virtual Blame::Outcome outcome() const { return blame_.outcome(); }
    [[nodiscard]] virtual bool all_members_came() const { return came_ >= group_size_; }

public:
    virtual ~Coordinator() = default;
    Coordinator(Coordinator&&) = default;
    Coordinator& operator=(Coordinator&&) = default;

private:
    // coordinator.cpp: connections and nodes
    [[nodiscard]] bool may_act(Time now);
    void depose(const std::string& reason);
    void pass_time(Time now);
    void on_hello(ConnectionId connection, const Hello& hello);
    void on_join(Time now, ConnectionId connection, const Join& join);
    void on_member(Time now, ConnectionId connection, Node& node, const Message& message);
    void resume(Time now, ConnectionId connection, Node& node, const Join& join);
    void admit(Time now, ConnectionId connection, const Join& join);
    void resync(const Node& node, std::int32_t known_round);
    [[nodiscard]] const Node* holder_of(Time now, const NodeRecord& newcomer) const;
    void welcome(ConnectionId connection, const Join& join);
    void report_differences(const Node& node, const Join& join);
    void refuse(ConnectionId connection, bool rejoin, int status, std::string reason);
    void evict(Time now, Node& node, bool returns = false);
    void release(Time now, Node& node);
    void evict_silent(Time now);
    void send(ConnectionId connection, Message message);
    void broadcast(const Message& message);
    void record() { actions_.emplace_back(Record{snapshot()}); }
    [[nodiscard]] Stamp stamp() const { return {options_.epoch, round_, options_.incarnation}; }

    // coordinator_gathering.cpp: how a round begins
    void succeed(Time now);
    void adopt(Time now, Node& node, const Join& join);
    void begin_later_round(Time now, std::int32_t round);
    void all_came(Time now);
    [[nodiscard]] bool awaits_members() const { return adopt_until_ != kNever && now_ < adopt_until_; }
    void learn(const JobConfig& job);
    void on_adoption_timeout(Time now);
    void gather(Time now);
    void tick_gathering(Time now);
    void try_start(Time now);
    void start(Time now);
    void on_join_timeout(Time now);
    void warm_up(Time now);
    void note_newcomer(Time now, const Node& node);
    void take_newcomers_in(Time now);
    [[nodiscard]] bool may_take_newcomers_in() const;
    [[nodiscard]] std::size_t newcomers() const;
    [[nodiscard]] std::size_t ready() const;
    [[nodiscard]] std::size_t limit() const;
    [[nodiscard]] std::string waiting() const;

    // coordinator_ends.cpp: how a round and the job end
    void on_report(Time now, Node& node, const Report& report);
    void on_leave(Time now, Node& node, const Leave& leave);
    void review(Time now);
    void stop_round(Time now, const std::string& reason, const LostRanks& lost = {});
    void send_stops(Time now, const std::string& reason, const LostRanks& lost = {});
    void judge(Time now);
    void judge_failure(Time now);
    void judge_loss(Time now);
    void next_round(Time now, Milliseconds pause);
    void report_restart(const Cause& cause, const std::string& what);
    void decide(int status, const std::string& reason, bool with_causes);
    void end_as_decided(Time now);
    void end_if_hopeless(Time now);
    void finish(Time now, int status, std::string reason, bool with_causes);
    void tick_over(Time now);
    [[nodiscard]] bool about_to_end() const { return roster_.count(MemberState::done) > 0; }
    [[nodiscard]] bool failure_ends_job() const;
    [[nodiscard]] bool enough_without(const Node& leaver) const;
    [[nodiscard]] Milliseconds lasted(Time until) const;

    Options options_;
    JobConfig job_;
    Restarts restarts_;
    Cooldowns cooldowns_;
    Roster roster_;
    Blame blame_;
    Phase phase_ = Phase::gathering;
    std::vector<Action> actions_;
    std::vector<std::string> lost_hosts_;    ///< of the members that a gathering waits for
    std::map<std::string, Time> returning_;  ///< hosts whose guard starts the agent again, until when that counts
    std::map<std::string, Time> cooling_;    ///< nodes that wait out their host's cool-down
    std::set<std::string> programs_;         ///< that nodes have brought

    std::int32_t round_ = -1;
    std::int32_t highest_round_ = -1;  ///< that any member reported
    std::size_t group_size_ = 0;       ///< of the current round
    std::size_t came_ = 0;  ///< members of the adopted round, leavers and lost ones among them; 0: it is not adopted
    std::int32_t first_group_size_ = 0;
    bool round_over_ = true;         ///< what follows from the current round is decided
    bool numbers_are_known_ = true;  ///< no round was ever started that this coordinator has not heard of
    Time round_began_{};
    std::string restart_reason_;
    LostRanks stopped_for_;  ///< what ended this round
    std::optional<Verdict> verdict_;

    Time now_{}, began_{};
    Time lease_until_ = kNever;
    bool had_members_ = false;
    Time last_message_{};  ///< of any member
    std::uint64_t highest_epoch_ = 0;
    std::string deposed_reason_;
    Time next_look_{}, gather_until_ = kNever, last_call_until_ = kNever, next_progress_ = kNever;
    Time newcomers_until_ = kNever;  ///< newcomers wait until then
    Time not_before_{};              ///< of the next round: a back-off, members that may not have fenced yet
    Time await_until_{};             ///< members of a predecessor's round may still come
    Time adopt_until_ = kNever;      ///< members of the running or stopping round may still come
    Time over_since_{};
    bool lingered_ = false;
};

}  // namespace dlaunch::rendezvous
