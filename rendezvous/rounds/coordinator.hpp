#pragma once
/// The coordinator of a job, which the nodes' agents join. A state machine without I/O and without a clock. Input:
/// messages, closed connections and times; output: messages to send.
///
/// The Coordinator keeps the nodes' connections and incarnations (Roster), checks joins, answers beats, and detects
/// silent nodes. Rounds decides everything about the job itself: the start and end of rounds, and the end of the job.
///
/// **The coordinator's lease.** A coordinator with a lease (granted()) checks the lease before every event. When the
/// lease ends, the coordinator is deposed: it sends nothing more and closes all connections. A Join with a higher
/// epoch, a node time-out without any message of a member, or resign() also deposes it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/rounds/coordinator_options.hpp"
#include "rendezvous/rounds/outbox.hpp"
#include "rendezvous/rounds/programs.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/rounds/rounds.hpp"
#include "rendezvous/rounds/rules.hpp"
#include "rendezvous/rounds/standby_list.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::rendezvous {

class Coordinator {
public:
    using Options = CoordinatorOptions;
    using Phase = Rounds::Phase;
    using Action = Outbox::Action;
    using Send = Outbox::Send;
    using Close = Outbox::Close;
    using Record = Outbox::Record;

    /// Tests break `rules`.
    Coordinator(Options options, Time now, std::unique_ptr<const Rules> rules = std::make_unique<const Rules>());
    Coordinator(const Coordinator&) = delete;
    Coordinator& operator=(const Coordinator&) = delete;

    void received(Time now, ConnectionId connection, const Message& message);
    /// `by_fin`: with FIN, by the peer or its kernel. Either way the node may reconnect.
    void closed(Time now, ConnectionId connection, bool by_fin);
    void tick(Time now);

    /// The coordinator's own lease: at `until` the coordinator is deposed. Without any call there is no lease.
    void granted(Time until);
    /// Hands over to a successor: records the latest snapshot and is deposed.
    void resign(Time now);
    /// The operator ends the job on all nodes. `at_once`: without grace for workers.
    void end_job(Time now, int status, const std::string& reason, bool at_once = false);
    /// All hosts of the front end have joined or failed.
    void no_more_hosts(Time now);
    /// Prints a line on every node.
    void warn(const std::string& text);

    /// When tick() is due at the latest.
    [[nodiscard]] Time deadline() const;
    /// To be carried out in order, after each call above. A Record, if there is one, is the first: decisions are kept
    /// before any member is informed of them.
    [[nodiscard]] std::vector<Action> take_actions() {
        return outbox_.take([this] { return rounds_.take_record(); });
    }

    /// The job is over, and every live node has received the verdict.
    [[nodiscard]] bool finished() const { return !deposed_ && rounds_.finished(); }
    [[nodiscard]] bool deposed() const { return deposed_; }
    /// The reason of deposed(), for a log.
    [[nodiscard]] const std::string& deposed_reason() const { return deposed_reason_; }
    /// resign() has deposed this coordinator: no other has begun a round since, and its snapshot is all there is to
    /// know.
    [[nodiscard]] bool has_handed_over() const { return has_handed_over_; }
    /// The highest epoch that a member reported; the next coordinator's must be higher.
    [[nodiscard]] std::uint64_t highest_epoch() const { return highest_epoch_; }
    [[nodiscard]] Phase phase() const { return rounds_.phase(); }
    [[nodiscard]] int round() const { return rounds_.number(); }
    [[nodiscard]] std::size_t nodes() const { return roster_.size(); }
    [[nodiscard]] const std::optional<Verdict>& verdict() const { return rounds_.verdict(); }
    [[nodiscard]] const JobConfig& config() const { return rounds_.config(); }
    [[nodiscard]] Snapshot snapshot() const { return rounds_.snapshot(); }
    /// Counters against the nodes; for tests.
    [[nodiscard]] bool is_consistent() const { return roster_.is_consistent(); }

private:
    [[nodiscard]] bool may_act(Time now);
    void depose(const std::string& reason);
    void pass_time(Time now);
    void on_hello(ConnectionId connection, const Hello& hello);
    void on_join(Time now, ConnectionId connection, const Join& join);
    void on_member(Time now, ConnectionId connection, Node& node, const Message& message);
    void admit(Time now, ConnectionId connection, const Join& join);
    void resume(Time now, ConnectionId connection, Node& node, const Join& join);
    void welcome(ConnectionId connection, const Join& join);
    void name_standbys();
    void refuse(ConnectionId connection, bool rejoin, int status, std::string reason);
    void report_differences(const Node& node, const Join& join);
    void evict_silent(Time now);
    [[nodiscard]] const Node* holder_of(Time now, const NodeRecord& newcomer) const;

    const Options options_;
    const std::unique_ptr<const Rules> rules_;
    Roster roster_;
    Outbox outbox_;
    Rounds rounds_;

    Time now_;
    Time lease_until_ = kNever;
    bool deposed_ = false;
    std::string deposed_reason_;
    bool has_handed_over_ = false;
    bool had_members_ = false;
    Time last_message_;  ///< of any member
    Time next_look_;     ///< for silent nodes
    std::uint64_t highest_epoch_ = 0;
    StandbyList standbys_;
    Programs programs_;  ///< of the nodes that have joined
};

}  // namespace dlaunch::rendezvous
