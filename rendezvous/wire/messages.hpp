#pragma once
/// What members and the coordinator of a job say to each other. Plain data; the bytes are in wire/rounds.hpp.
///
/// Both sides tell states, not steps: whoever comes back after a cut says again where it stands and is told again what
/// holds, so a lost message is no matter and a late one is known by its stamp.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

/// torchrun's name for a job that the user gave none: two jobs may have it.
inline constexpr const char* kUnnamedJob = "none";

/// Which coordinator, which round, and which life of the sender a message belongs to. `round` is -1 before the first.
struct Stamp {
    std::uint64_t epoch = 0;
    std::int32_t round = -1;
    std::uint64_t incarnation = 0;
    bool operator==(const Stamp&) const = default;
};

// --- member to coordinator ------------------------------------------------------------------------------------------

/// The first word on a connection; its layout is the same in every version.
struct Hello {
    std::string version;  ///< of dlaunch; both sides must have the same
    std::string job_id;
    std::uint64_t incarnation = 0;
    bool operator==(const Hello&) const = default;
};

/// One agent, as it introduces itself.
struct NodeRecord {
    std::string id;               ///< unique among all agents that ever join, new for each process
    std::string host;             ///< for humans and for the order of ranks
    std::string address;          ///< where other nodes reach it
    std::string other_address;    ///< of the other kind, IPv6 beside IPv4; empty: none
    std::int32_t store_port = 0;  ///< of the worker store, which it serves when it is group rank 0
    std::int32_t slots = 1;       ///< workers
    std::string role;
    std::string program;                    ///< its name, without a folder
    std::string order_key;                  ///< the place that a scheduler gave it (SLURM_NODEID); empty: none
    std::optional<std::int32_t> node_rank;  ///< --node-rank
    bool hosts_coordinator = false;
    bool operator==(const NodeRecord&) const = default;
};

/// The round of the stamp, in which the sender was placed.
struct RunningRound {
    std::int32_t group_rank = 0, group_world_size = 1;
    bool alive = true;  ///< workers may live; else a Report follows the Welcome
    JobProgress progress;
    bool operator==(const RunningRound&) const = default;
};

/// Follows Hello.
struct Join {
    Stamp stamp;
    NodeRecord record;
    std::optional<std::int32_t> last_group_rank;
    std::optional<RunningRound> running;
    std::int32_t latest_round = -1;  ///< of the job, as far as this node knows: a new coordinator goes on behind it
    std::uint64_t beat = 0;          ///< as in Beat
    std::optional<JobConfig> told;   ///< by this node's user; differences are reported, the coordinator's count
    std::optional<JobConfig> job;    ///< the latest coordinator's, for its successor
    std::uint64_t coordinator = 0;   ///< incarnation of the coordinator of the stamp's epoch; 0: none
    bool operator==(const Join&) const = default;
};

/// Ranks one behind the other whose processes are gone; none where `count` is 0.
struct LostRanks {
    std::int32_t first = 0, count = 0;
    bool operator==(const LostRanks&) const = default;
};

/// Why a round failed, as far as the coordinator must know it.
struct Cause {
    std::int32_t status = 1;  ///< what dlaunch ends with if this is the first cause and nothing is tried again
    std::string kind;         ///< equal for failures that are alike
    std::string summary;      ///< one line: "rank 3 (node2, pid 4711) exited with 3"
    bool permanent = false;   ///< another try cannot end otherwise
    std::string record;       ///< the agent's own failure records, opaque here; may be empty until the round is over
    LostRanks lost{};
    bool operator==(const Cause&) const = default;
};

/// How the stamp's round goes on this node.
struct Report {
    enum class Phase : std::uint8_t { failed, over };  ///< failed: something still runs; over: nobody lives
    Stamp stamp;
    Phase phase = Phase::over;
    bool succeeded = false;
    std::optional<Cause> cause;  ///< the node's first, when it has one of its own
    bool operator==(const Report&) const = default;
};

/// This node takes part in no further round.
struct Leave {
    enum class Scope : std::uint8_t {
        node_if_enough,  ///< the others go on when they are enough, else the job ends with `status` (a signal)
        node,            ///< the others go on or wait for somebody else (this node is unfit)
        job,             ///< the job ends with `status` (--timeout)
    };
    Stamp stamp;
    Scope scope = Scope::node_if_enough;
    std::int32_t status = 0;
    std::string reason;
    bool workers_too = false;  ///< they were asked as well: what failed elsewhere a moment ago may follow from it
    bool at_once = false;      ///< said again: if the job ends with this, nobody's workers have a grace any more
    bool operator==(const Leave&) const = default;
};

/// The last message of a node, sent by its guard or by itself: no worker of it lives, and this incarnation sends
/// nothing more. A connection that merely closes is a cut.
struct Gone {
    bool returns = false;  ///< the guard starts the agent again
    bool operator==(const Gone&) const = default;
};

// --- both ways ------------------------------------------------------------------------------------------------------

/// The coordinator returns each with the same number, which is the sender's own time in milliseconds: what the member
/// knows of its lease is counted from when it asked, not from when the answer came.
struct Beat {
    Stamp stamp;
    std::uint64_t number = 0;
    bool operator==(const Beat&) const = default;
};

// --- coordinator to member ------------------------------------------------------------------------------------------

struct Welcome {
    Stamp stamp;
    std::uint64_t beat = 0;  ///< Join's
    JobConfig job;           ///< whatever the member was told
    std::string host{};      ///< where the coordinator runs, for humans
    bool operator==(const Welcome&) const = default;
};

/// The connection is closed after it; the layout is the same in every version.
struct Refused {
    bool rejoin = false;  ///< that incarnation is lost: join with the next one, when nothing of the old one lives
    std::int32_t status = 0;
    std::string reason;
    bool operator==(const Refused&) const = default;
};

/// One round as one node sees it; the stamp's round begins.
struct Assigned {
    Stamp stamp;
    std::int32_t group_rank = 0, group_world_size = 1;
    std::int32_t first_rank = 0, world_size = 1, local_world_size = 1;
    std::int32_t first_role_rank = 0, role_world_size = 1;
    std::string master_addr;
    std::int32_t master_port = 0;
    std::int32_t restart_count = 0, max_restarts = 0;
    std::string restart_reason;
    JobProgress progress;
    bool operator==(const Assigned&) const = default;
};

/// The stamp's round ends: stop the workers, then report.
struct StopRound {
    Stamp stamp;
    std::string reason;
    LostRanks lost{};      ///< what the workers that still run must not wait for
    bool at_once = false;  ///< without grace
    bool operator==(const StopRound&) const = default;
};

/// A line for the user.
struct Tell {
    Stamp stamp;
    std::string text;
    bool operator==(const Tell&) const = default;
};

/// The job is over, on every node alike.
struct End {
    Stamp stamp;
    Verdict verdict;
    bool operator==(const End&) const = default;
};

using Message = std::variant<Hello, Join, Report, Leave, Beat, Welcome, Refused, Assigned, StopRound, Tell, End, Gone>;

}  // namespace dlaunch::rendezvous
