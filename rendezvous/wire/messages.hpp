#pragma once
/// Messages between the members and the coordinator of a job. Plain data; wire/rounds.hpp encodes them.
///
/// Messages carry states, not steps. After a cut the member reports its state again and receives the coordinator's, so
/// a lost message does no harm; stamps identify late ones.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/wire/job.hpp"
#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::rendezvous {

/// torchrun's default job id. Two jobs may have it.
inline constexpr const char* kUnnamedJob = "none";

/// The coordinator's epoch, the round and the sender's incarnation that a message belongs to. `round` is -1 before the
/// first.
struct Stamp {
    std::uint64_t epoch = 0;
    std::int32_t round = -1;
    std::uint64_t incarnation = 0;
    bool operator==(const Stamp&) const = default;
};

// --- member to coordinator ------------------------------------------------------------------------------------------

/// The first message on a connection; its layout is the same in every version.
struct Hello {
    std::string version;  ///< of dlaunch; both sides must have the same
    std::string job_id;
    std::uint64_t incarnation = 0;
    bool operator==(const Hello&) const = default;
};

/// An agent's description of its node.
struct NodeRecord {
    std::string id;                         ///< unique among all agents that ever join, new for each process
    std::string host;                       ///< for users and for the order of ranks
    std::string address;                    ///< at which other nodes reach this one
    std::string other_address;              ///< of the other IP version, IPv6 beside IPv4; empty: none
    std::int32_t store_port = 0;            ///< of the next round's worker store, which group rank 0 serves
    std::vector<WorkerBlock> blocks{{}};    ///< a block per context of this node, ascending in appnum; never empty
    std::string program;                    ///< of the first context: file name without a folder
    std::string order_key;                  ///< its index in the scheduler's allocation (SLURM_NODEID); empty: none
    std::optional<std::int32_t> node_rank;  ///< --node-rank
    bool hosts_coordinator = false;
    std::int32_t jax_port = 0;      ///< kept free for JAX's coordinator in the next round, which rank 0 runs; 0: none
    std::int32_t standby_port = 0;  ///< at which this node serves if it takes over the coordinator; 0: it does not

    [[nodiscard]] std::int64_t workers() const {
        std::int64_t total = 0;
        for (const WorkerBlock& block : blocks) total += block.count;
        return total;
    }
    bool operator==(const NodeRecord&) const = default;
};

/// The sender's assignment in the stamp's round.
struct RunningRound {
    std::int32_t group_rank = 0, group_world_size = 1;
    bool alive = true;                ///< workers may live; false: a Report follows the Welcome
    std::chrono::milliseconds age{};  ///< since the round began on this node, at most a day
    bool operator==(const RunningRound&) const = default;
};

/// Inside TLS a guard sends a good-bye for its dead agent: one of two secrets of this connection, behind the last
/// sealed bytes. Before, the coordinator has only their SHA-256. Empty: the connection is plain.
struct GoodbyeHashes {
    std::string gone, returns;  ///< as Gone::returns
    bool operator==(const GoodbyeHashes&) const = default;
};

/// Follows Hello.
struct Join {
    Stamp stamp;
    NodeRecord record;
    std::optional<std::int32_t> last_group_rank;
    std::optional<RunningRound> running;
    std::int32_t latest_round = -1;  ///< the highest that this node knows; a new coordinator continues after it
    std::uint64_t beat = 0;          ///< as in Beat
    /// this node's options; the coordinator's apply, and a node with other values gets a warning
    std::optional<JobConfig> own_config;
    std::optional<JobConfig> job;         ///< the latest coordinator's configuration, for its successor
    std::optional<JobProgress> progress;  ///< as of the latest Assigned, for a successor
    std::uint64_t coordinator = 0;        ///< incarnation of the coordinator of the stamp's epoch; 0: none
    std::string coordinator_host;         ///< of the latest coordinator; empty: none
    GoodbyeHashes goodbye;
    bool operator==(const Join&) const = default;
};

/// Ranks that have died.
using LostRanks = RankRanges;

/// The cause of a failed round: the part that the coordinator needs.
struct Cause {
    std::int32_t status = 1;  ///< dlaunch's exit status if this is the first cause and no restart is left
    std::string kind;         ///< the same text for the same kind of failure
    std::string summary;      ///< one line: "rank 3 (node2, pid 4711) exited with 3"
    bool permanent = false;   ///< a restart cannot help
    std::string record;       ///< the agent's failure records, opaque here; may be empty until the round is over
    LostRanks lost{};
    /// Words of lost peers' messages that may name hosts, where they name no rank; at most kMostLostHosts.
    std::vector<std::string> lost_hosts{};
    static constexpr std::size_t kMostLostHosts = 8;
    /// As evidence for the first cause, 0 the strongest. From kUnclear on the failure may follow from another one.
    std::uint8_t strength = 0;
    std::chrono::milliseconds after{};  ///< since the round began on the node
    std::string message{};              ///< first line of its error; empty: none, or all nodes' console has shown it
    static constexpr std::uint8_t kUnclear = 2;
    static constexpr std::uint8_t kEarlyExit = 3;  ///< a rank exited with 0 and is missed by its peers
    static constexpr std::uint8_t kNoFailure = 6;  ///< the record holds workers that did not fail

    bool operator==(const Cause&) const = default;
};

/// The state of the stamp's round on this node.
struct Report {
    enum class Phase : std::uint8_t { failed, over };  ///< failed: some workers still run; over: none lives
    Stamp stamp;
    Phase phase = Phase::over;
    bool succeeded = false;
    std::optional<Cause> cause;   ///< the first one on this node, if any; after success its latest exit
    std::int32_t store_port = 0;  ///< replaces NodeRecord's: each round has a port of its own
    std::int32_t jax_port = 0;    ///< likewise
    RankOutcomes outcomes{};      ///< of this node's ranks, when the round is over
    bool operator==(const Report&) const = default;
};

/// This node joins no further round.
struct Leave {
    enum class Scope : std::uint8_t {
        node_if_enough,  ///< the other nodes continue if they are enough, else the job ends with `status` (a signal)
        node,            ///< the other nodes continue, or wait for a replacement (this node is unfit)
        job,             ///< the job ends with `status` (--timeout)
    };
    Stamp stamp;
    Scope scope = Scope::node_if_enough;
    std::int32_t status = 0;
    std::string reason;
    bool workers_too = false;  ///< the workers received the signal, too: it may explain recent failures on other nodes
    bool at_once = false;      ///< a second signal: if the job ends with it, no worker gets a grace time
    bool operator==(const Leave&) const = default;
};

/// The last message of an incarnation, sent by the agent or its guard: no worker of the node lives. A connection that
/// closes without it is a cut.
struct Gone {
    bool returns = false;  ///< the guard restarts the agent
    bool operator==(const Gone&) const = default;
};

// --- both ways ------------------------------------------------------------------------------------------------------

/// The coordinator echoes each beat. The number is the member's own time in milliseconds: the member's lease counts
/// from the time of the request, not of the reply.
struct Beat {
    Stamp stamp;
    std::uint64_t number = 0;
    std::chrono::milliseconds pause{};  ///< in the reply: until the next beat, at least
    bool operator==(const Beat&) const = default;
};

// --- coordinator to member ------------------------------------------------------------------------------------------

struct Welcome {
    Stamp stamp;
    std::uint64_t beat = 0;  ///< Join's
    JobConfig job;           ///< the coordinator's values, which replace the member's
    std::string host{};      ///< the coordinator's host name, for users
    bool operator==(const Welcome&) const = default;
};

/// The coordinator closes the connection after it. The layout is the same in every version.
struct Refused {
    bool rejoin =
        false;  ///< this incarnation was evicted: rejoin with the next one when no worker of the old one lives
    std::int32_t status = 0;
    std::string reason;
    bool operator==(const Refused&) const = default;
};

/// Starts the stamp's round on one node.
struct Assigned {
    Stamp stamp;
    std::int32_t group_rank = 0, group_world_size = 1;
    std::int32_t world_size = 1;
    RankLayout ranks;  ///< a block for each of NodeRecord::blocks
    std::string master_addr;
    std::int32_t master_port = 0;
    std::int32_t restart_count = 0, max_restarts = 0;
    std::string restart_reason;
    JobProgress progress;
    std::string jax_addr;       ///< of the node of rank 0; empty: master_addr
    std::int32_t jax_port = 0;  ///< on that node; 0: none
    bool relayed = false;       ///< as JobConfig::relays_store
    bool operator==(const Assigned&) const = default;
};

/// The stamp's round ends: stop the workers, then report.
struct StopRound {
    Stamp stamp;
    std::string reason;
    LostRanks lost{};          ///< for the workers that still run, which must not wait for these ranks
    bool at_once = false;      ///< without a grace time
    std::int32_t signal = 0;   ///< that ends the job, for its workers; 0: none does
    bool timed_out = false;    ///< the job has reached its time limit: workers that still run are causes
    bool unclear = false;      ///< no failure explains the stop: each node reports its other workers, too
    bool for_failure = false;  ///< `reason` is the first failure that was reported, which need not be the first cause
    bool hung = false;         ///< a worker missed a deadline of its own: each node reports where its workers are
    bool operator==(const StopRound&) const = default;
};

/// A line that the agent prints for the user.
struct Notice {
    Stamp stamp;
    std::string text;
    bool about_receiver = false;  ///< and not about the job; among lines of other nodes it needs the node's name
    std::string cause{};          ///< the failure behind it, named before `text` where it was not yet; empty: none
    std::string message{};        ///< Cause::message of that failure
    bool operator==(const Notice&) const = default;
};

/// Where a node serves if it takes over the coordinator; before that, the port refuses connections.
struct StandbyPlace {
    std::string host;  ///< a name or an address
    std::int32_t port = 0;
    bool operator==(const StandbyPlace&) const = default;
};

/// The nodes that watch the coordinator's claim, in the order in which they take over. All other members dial them when
/// the coordinator is lost. Follows Welcome, and each change.
struct Standbys {
    static constexpr std::size_t kMost = 3;
    Stamp stamp;
    std::vector<StandbyPlace> places;  ///< at most kMost
    bool operator==(const Standbys&) const = default;
};

/// The job is over, on all nodes.
struct End {
    Stamp stamp;
    Verdict verdict;
    bool operator==(const End&) const = default;
};

using Message =
    std::variant<Hello, Join, Report, Leave, Beat, Welcome, Refused, Assigned, StopRound, Notice, End, Gone, Standbys>;

}  // namespace dlaunch::rendezvous
