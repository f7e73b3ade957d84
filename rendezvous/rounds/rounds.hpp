#pragma once
/// The rounds of a job: start and end of each round, the decision that follows, and the end of the job. A state machine
/// without I/O and without a clock; the coordinator (coordinator.hpp) passes the nodes' messages on.
///
///   adopting ──every member of the running round has joined──▶ running
///       │  └──deadline, members are missing──▶ stopping
///       │ deadline, no round is known
///       ▼
///   gathering ──enough nodes──▶ running ──all report success──▶ over
///       ▲                          │ a failure, a loss, a leave, newcomers
///       │ next round               ▼
///       └──────────────────── stopping ──no restart left, or a verdict (signal, --timeout)──▶ over
///
/// `stopping` lasts until every member has reported that none of its workers lives, or has been silent for so long that
/// it must have killed them: no worker of a round lives when the next one starts. Each member gets its own assignment
/// only, so the traffic of an agent does not grow with the job.
///
/// **Succession.** A successor uses the snapshot of its predecessor, or without one the reports of members, instead of
/// its own options. It is `adopting` until every member of the running round has joined: the round
/// continues and no worker is touched. If the predecessor was stopping the round, the successor starts in `stopping`.
/// No *new* round starts before every member that has not joined must have fenced itself. Decisions are recorded before
/// they are sent, so a successor of a coordinator that died between two messages decides the same.

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rendezvous/rounds/admission.hpp"
#include "rendezvous/rounds/adoption.hpp"
#include "rendezvous/rounds/blame.hpp"
#include "rendezvous/rounds/cooldowns.hpp"
#include "rendezvous/rounds/coordinator_options.hpp"
#include "rendezvous/rounds/expected_nodes.hpp"
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

    /// All references must outlive the object.
    Rounds(const CoordinatorOptions& options, const Rules& rules, Roster& roster, Outbox& outbox, Time now);
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;

    // --- nodes; `now` never decreases ---
    /// Before the node is welcomed: a successor without a snapshot takes the job's options from it.
    void introduced(const Join& join);
    /// The node has been added to the roster and welcomed.
    void joined(Time now, Node& node, const Join& join);
    /// A node has reconnected: brings it up to date. `known_round`: the latest round that it was assigned to.
    void resumed(Time now, const Node& node, std::int32_t known_round);
    void reported(Time now, Node& node, const Report& report);
    void leaves(Time now, Node& node, const Leave& leave);
    /// The node's incarnation is over, and none of its workers lives. `returns`: its guard restarts the agent.
    void evict(Time now, Node& node, bool returns = false);

    // --- time ---
    /// Call first for each event. The coordinator was stalled for `gap` before `now`: its own gap counts against no
    /// node.
    void pass(Time now, Time::duration gap);
    void tick(Time now);
    [[nodiscard]] Time deadline() const;

    /// All awaited hosts have joined or failed.
    void no_more_hosts(Time now);
    /// The operator ends the job on all nodes. `at_once`: without grace for workers.
    void end_job(Time now, int status, const std::string& reason, bool at_once);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] int number() const { return numbers_.latest(); }
    [[nodiscard]] const JobConfig& config() const { return job_; }
    [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }
    [[nodiscard]] Snapshot snapshot() const;
    /// The snapshot that is recorded now.
    [[nodiscard]] Snapshot take_record();
    /// Sends a line about the job to all nodes; where these have one console, to the first that is left.
    void tell(const Notice& notice);
    [[nodiscard]] Stamp stamp() const { return {options_.epoch, number(), options_.incarnation}; }
    /// Whether the round that a joining node runs may continue under this coordinator.
    [[nodiscard]] bool may_be_adopted(const Join& join) const;
    /// Workers of a round of another coordinator live: no round starts before they must have been killed.
    void meets_foreign_round(Time now) { gathering_.not_before(now + job_.node_timeout); }
    /// Whether the predecessor removed the joining node from the round, and expects it no more.
    [[nodiscard]] bool was_removed(const Join& join) const;
    /// The job is over, and every live node has received the verdict.
    [[nodiscard]] bool finished() const;

private:
    // rounds_adoption.cpp: succession
    void succeed(Time now);
    [[nodiscard]] bool was_known(const Join& join) const;
    void learn(const Join& join);
    void adopt(Time now, Node& node, const Join& join);
    void account_for(Time now, std::int32_t group_rank);
    void begin_later_round(Time now, std::int32_t round);
    void adopted(Time now);
    void end_adoption(Time now);

    // rounds.cpp: the start of a round
    void begin_gathering(Time now);
    void gather(Time now);
    void try_start(Time now);
    void start(Time now);
    [[nodiscard]] std::string change_to(const std::vector<Node*>& chosen) const;
    void assign(const std::vector<Node*>& chosen);
    void time_out(Time now);
    [[nodiscard]] std::vector<Node*> choose();
    [[nodiscard]] Gathering::Nodes nodes(Time now) const;
    [[nodiscard]] std::size_t limit() const;
    [[nodiscard]] std::string waiting() const;
    [[nodiscard]] std::string patience(Time now) const;

    // rounds_newcomers.cpp: nodes that join while a round runs
    void begin_cooldown(Time now, const Node& node);
    void end_cooldowns(Time now);
    void note_newcomer(Time now, const Node& node);
    void note_newcomers(Time now);
    void begin_cooldowns(Time now, const std::string& but);
    void admit_newcomers(Time now);
    [[nodiscard]] bool may_admit_newcomers() const;
    [[nodiscard]] std::size_t newcomers() const;

    // rounds_end.cpp: the end of a round and of the job
    void review(Time now);
    void stop(Time now, const std::string& reason, const LostRanks& lost = {});
    void send_stops(Time now, const std::string& reason, const LostRanks& lost = {});
    void lost(Time now, const Node& node);
    void note_gone(const Node& node, bool was_needed);
    [[nodiscard]] StopRound order_to_stop(bool at_once = false) const;
    void lose_missing_nodes(Time now);
    void miss_nodes(Time now);
    void judge(Time now);
    void judge_failure(Time now);
    [[nodiscard]] bool most_have_finished() const;
    void find_lost_peer();
    void find_lost_peer_by_host();
    void judge_loss(Time now);
    void next_round(Time now, Milliseconds pause);
    void decide(int status, const std::string& reason, bool with_causes);
    void end_as_decided(Time now);
    void end_if_hopeless(Time now);
    void finish(Time now, int status, std::string reason, bool with_causes);
    [[nodiscard]] Verdict add_causes(Verdict verdict) const;
    void tick_over(Time now);

    // rounds_leave.cpp: a node leaves
    void answer_leave(Time now, Node& node, bool failed_first);
    void answer_leaves(Time now);
    [[nodiscard]] bool must_wait(const Node& leaver) const;
    void release_one_node(Time now, Node& node, bool failed_first);
    void end_job_for_leave(Time now, Node& node);
    void release(Time now, Node& node);
    [[nodiscard]] bool job_survives(const Node& leaver) const;
    [[nodiscard]] bool enough_without(const Node& leaver) const;
    [[nodiscard]] bool failure_ends_job() const;

    void send(const Node& node, Message message) { outbox_.send(node.connection, std::move(message)); }
    void broadcast(const Message& message) { outbox_.broadcast(roster_, message); }
    void record() { outbox_.record(); }
    [[nodiscard]] bool all_joined() const { return rules_.all_joined(adoption_.count(), group_size_); }
    [[nodiscard]] bool expects_members() const { return adoption_.is_open(now_) && !all_joined(); }
    /// It is not known yet which members of the predecessor's round are there.
    [[nodiscard]] bool is_settling() const { return phase_ == Phase::adopting || expects_members(); }
    [[nodiscard]] JobProgress progress(std::vector<HostLosses> losses) const {
        return {restarts_.counters(), first_group_size_, std::move(losses)};
    }
    /// No round can start.
    [[nodiscard]] bool too_few_gather() const {
        return phase_ == Phase::gathering && roster_.size() < static_cast<std::size_t>(job_.min_nodes);
    }
    [[nodiscard]] bool has_stopped() const {
        return rules_.has_stopped(roster_.count(MemberState::running), expects_members());
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
    MoreHosts more_hosts_;
    Restarts restarts_;
    Cooldowns cooldowns_;
    Blame blame_;
    Gathering gathering_;
    Adoption adoption_;
    ExpectedNodes expected_nodes_;
    Admission admission_;
    LostHosts lost_hosts_;
    RoundNumbers numbers_;

    Phase phase_ = Phase::gathering;
    Time now_, began_;
    std::size_t group_size_ = 0;   ///< of the current round
    std::string earlier_host_;     ///< of the predecessor, as members report it; empty: unknown
    Time missing_until_ = kNever;  ///< then those that have not joined count as lost
    bool missed_nodes_ = false;    ///< nodes of the predecessor did not join in time
    std::int32_t recorded_nodes_ = 0;
    std::int32_t first_group_size_ = 0;
    bool round_over_ = true;  ///< the outcome of the current round is decided
    Time round_began_{};
    std::string restart_reason_;
    LostRanks stopped_for_;            ///< the lost ranks that ended this round
    std::set<std::int32_t> removed_;   ///< group ranks of the round's members that were removed
    std::set<std::int32_t> finished_;  ///< those of them that the round did not need any more
    std::optional<Verdict> verdict_;
    Time over_since_{}, next_look_{};
    bool lingered_ = false;
};

}  // namespace dlaunch::rendezvous
