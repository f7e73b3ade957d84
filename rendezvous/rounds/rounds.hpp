#pragma once
/// The rounds of a job: which one runs, what ends it, what follows, and when the job is over. A state machine without
/// I/O and without a clock; the coordinator (coordinator.hpp) feeds it what nodes report.
///
///   adopting ──every member of the running round has come──▶ running
///       │ not all have come in time; or its stop goes on: stopping
///       ▼
///   gathering ──enough nodes──▶ running ──all report success──▶ over
///       ▲                          │ a failure, a loss, a leave, newcomers
///       │ again                    ▼
///       └──────────────────── stopping ──no restart left, a stop──▶ over
///
/// `stopping` lasts until every member has reported that none of its workers lives, or has been silent for so long that
/// it must have killed them: no worker of a round lives when the next one starts. Each member gets its own assignment
/// only, so what an agent sends and receives does not grow with the job.
///
/// **Succession.** A successor begins with the snapshot of its predecessor where it has one, else with what members
/// report; its own options count for nothing then. It is `adopting` until every member of the running round has joined:
/// the round goes on and no worker is touched. A round that the predecessor was stopping is stopped. No *new* round
/// starts before every member that has not joined must have fenced itself. Decisions are recorded before any member is
/// informed of them, so a successor of a coordinator that died between two messages decides the same.

#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/rounds/admission.hpp"
#include "rendezvous/rounds/adoption.hpp"
#include "rendezvous/rounds/awaited.hpp"
#include "rendezvous/rounds/blame.hpp"
#include "rendezvous/rounds/cooldowns.hpp"
#include "rendezvous/rounds/coordinator_options.hpp"
#include "rendezvous/rounds/gathering.hpp"
#include "rendezvous/rounds/lost_hosts.hpp"
#include "rendezvous/rounds/outbox.hpp"
#include "rendezvous/rounds/restarts.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/rounds/round_numbers.hpp"
#include "rendezvous/rounds/rules.hpp"

namespace dlaunch::rendezvous {

class Rounds {
public:
    enum class Phase { adopting, gathering, running, stopping, over };

    /// All references must outlive it.
    Rounds(const CoordinatorOptions& options, const Rules& rules, Roster& roster, Outbox& outbox, Time now);
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;

    // --- nodes; `now` never goes back ---
    /// Before the node is welcomed: a successor learns the job's options from it.
    void introduced(const Join& join);
    /// The node is new to the roster, and was welcomed.
    void joined(Time now, Node& node, const Join& join);
    /// After a cut: the node is synchronized. `known_round`: the latest that the node was assigned to.
    void resumed(Time now, const Node& node, std::int32_t known_round);
    void reported(Time now, Node& node, const Report& report);
    void leaves(Time now, Node& node, const Leave& leave);
    /// The node's incarnation is over, and none of its workers lives any more. `returns`: its guard starts it again.
    void evict(Time now, Node& node, bool returns = false);

    // --- time ---
    /// First of all at each call. The coordinator stood still for the last `gap` of it.
    void pass(Time now, Time::duration gap);
    void tick(Time now);
    [[nodiscard]] Time deadline() const;

    /// The operator ends the job everywhere. `at_once`: workers have no grace any more.
    void end_job(Time now, int status, const std::string& reason, bool at_once);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] int number() const { return numbers_.latest(); }
    [[nodiscard]] const JobConfig& config() const { return job_; }
    [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }
    [[nodiscard]] Snapshot snapshot() const;
    [[nodiscard]] Stamp stamp() const { return {options_.epoch, number(), options_.incarnation}; }
    /// The round that a joining node runs may go on under this coordinator.
    [[nodiscard]] bool may_be_adopted(const Join& join) const;
    /// The job is over, and every node that lives has received it.
    [[nodiscard]] bool finished() const;

private:
    // rounds.cpp: how a round begins
    void succeed(Time now);
    void learn(const JobConfig& job);
    void adopt(Time now, Node& node, const Join& join);
    void begin_later_round(Time now, std::int32_t round);
    void end_adoption(Time now);
    void gather(Time now);
    void try_start(Time now);
    void start(Time now);
    void assign(const std::vector<Node*>& chosen);
    void time_out(Time now);
    [[nodiscard]] std::vector<Node*> choose();
    [[nodiscard]] Gathering::Nodes nodes(Time now) const;
    [[nodiscard]] std::size_t limit() const;
    [[nodiscard]] std::string waiting() const;

    // rounds_newcomers.cpp: nodes that come while a round runs
    void cool_down(Time now, const Node& node);
    void warm_up(Time now);
    void note_newcomer(Time now, const Node& node);
    void take_newcomers_in(Time now);
    [[nodiscard]] bool may_take_newcomers_in() const;
    [[nodiscard]] std::size_t newcomers() const;

    // rounds_end.cpp: how a round and the job end
    void review(Time now);
    void stop(Time now, const std::string& reason, const LostRanks& lost = {});
    void send_stops(Time now, const std::string& reason, const LostRanks& lost = {});
    void lost(Time now, const Node& node);
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

    // rounds_leave.cpp: a node leaves
    void leave_alone(Time now, Node& node, bool failed_first);
    void leave_with_job(Time now, Node& node);
    void release(Time now, Node& node);
    [[nodiscard]] bool others_go_on(const Node& leaver) const;
    [[nodiscard]] bool enough_without(const Node& leaver) const;
    [[nodiscard]] bool failure_ends_job() const;

    void send(const Node& node, Message message) { outbox_.send(node.connection, std::move(message)); }
    void broadcast(const Message& message) { outbox_.broadcast(roster_, message); }
    void record();
    [[nodiscard]] bool all_came() const { return rules_.all_came(adoption_.count(), group_size_); }
    [[nodiscard]] bool awaits_members() const { return adoption_.is_open(now_) && !all_came(); }
    [[nodiscard]] bool has_stopped() const {
        return rules_.has_stopped(roster_.count(MemberState::running), awaits_members());
    }
    [[nodiscard]] Time earliest_start() const { return rules_.earliest_start(gathering_.not_before()); }
    [[nodiscard]] bool about_to_end() const { return roster_.count(MemberState::done) > 0; }
    [[nodiscard]] bool is_elastic() const { return job_.min_nodes < job_.max_nodes; }
    [[nodiscard]] Milliseconds lasted(Time until) const;

    const CoordinatorOptions& options_;
    const Rules& rules_;
    Roster& roster_;
    Outbox& outbox_;
    JobConfig job_;
    Restarts restarts_;
    Cooldowns cooldowns_;
    Blame blame_;
    Gathering gathering_;
    Adoption adoption_;
    Awaited awaited_;
    Admission admission_;
    LostHosts lost_hosts_;
    RoundNumbers numbers_;

    Phase phase_ = Phase::gathering;
    Time now_, began_;
    std::size_t group_size_ = 0;  ///< of the current round
    std::int32_t recorded_nodes_ = 0;
    std::int32_t first_group_size_ = 0;
    bool round_over_ = true;  ///< what follows from the current round is decided
    Time round_began_{};
    std::string restart_reason_;
    LostRanks stopped_for_;  ///< what ended this round
    std::optional<Verdict> verdict_;
    Time over_since_{}, next_look_{};
    bool lingered_ = false;
};

}  // namespace dlaunch::rendezvous
