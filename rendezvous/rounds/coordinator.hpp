#pragma once
/// The coordinator of a job, which its nodes' agents join. A state machine without I/O and without a clock: messages,
/// closed connections and times go in, messages to send come out.
///
/// It knows the nodes by their connections and incarnations (Roster), checks who may join, answers beats, and finds
/// nodes that are silent. Rounds decides everything about the job itself: which round runs, what ends it, and when the
/// job is over.
///
/// **Its own lease.** With granted() it serves until its lease ends, and checks that before everything else. Then it is
/// deposed: it answers nothing, renews no lease and closes. So is a coordinator that meets a higher epoch than its own,
/// one that no member reaches, and one that resigns.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rendezvous/rounds/coordinator_options.hpp"
#include "rendezvous/rounds/outbox.hpp"
#include "rendezvous/rounds/roster.hpp"
#include "rendezvous/rounds/rounds.hpp"
#include "rendezvous/rounds/rules.hpp"
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
    [[nodiscard]] std::vector<Action> take_actions() { return outbox_.take(); }

    /// The job is over, and every node that lives has received it.
    [[nodiscard]] bool finished() const { return !deposed_ && rounds_.finished(); }
    [[nodiscard]] bool deposed() const { return deposed_; }
    /// Why it is deposed, for a log.
    [[nodiscard]] const std::string& deposed_reason() const { return deposed_reason_; }
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
    bool had_members_ = false;
    Time last_message_;  ///< of any member
    Time next_look_;     ///< for silent nodes
    std::uint64_t highest_epoch_ = 0;
    std::set<std::string> programs_;  ///< that nodes have brought
};

}  // namespace dlaunch::rendezvous
