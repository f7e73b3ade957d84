#pragma once
/// The configuration and the progress of a job. Members send both to a successor of their coordinator, and the
/// coordinator's snapshot holds them for its guard. Plain data; wire/rounds.hpp encodes it.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::rendezvous {

enum class ScaleUp : std::uint8_t { immediate, on_restart, never };

struct RestartLimits {
    int max_restarts = 0;
    std::chrono::milliseconds first{100}, most{30'000};  ///< pauses
    std::chrono::milliseconds healthy{10'000};           ///< a round that lasts longer is not quick
    int crash_loop = 10;  ///< quick rounds in a row with the same kind of failure that end the job; 0: never
    bool operator==(const RestartLimits&) const = default;
};

/// Cool-down of a host with repeated losses: from `first`, doubled each time, up to `most`. `first` 0: none.
struct CooldownLimits {
    std::chrono::milliseconds first{10'000}, most{300'000};
    bool operator==(const CooldownLimits&) const = default;
};

/// The options of the job. The first coordinator's values apply on all nodes and under all its successors.
struct JobConfig {
    int min_nodes = 1, max_nodes = 1;
    /// Wait for more nodes: after min_nodes have joined, before the first round (none when min = max); after a newcomer
    /// joins, before the running round is stopped to admit it.
    std::chrono::milliseconds last_call{30'000};
    std::chrono::milliseconds join_timeout{600'000};
    std::chrono::milliseconds node_timeout{5'000};  ///< silence after which a node is lost
    RestartLimits restarts;
    CooldownLimits cooldown;
    ScaleUp scale_up = ScaleUp::immediate;
    bool fixed_ranks = false;        ///< static: each rank belongs to one node; there are no spares
    std::string master_addr;         ///< of the worker store; empty: the address of group rank 0's node
    std::optional<int> master_port;  ///< none: group rank 0 chooses a free port
    bool relays_store = false;       ///< workers reach the store through their agents only
    bool operator==(const JobConfig&) const = default;
};

/// Restarts and quick rounds so far.
struct RestartCounters {
    std::int32_t used = 0;            ///< of max_restarts
    std::int32_t quick_in_a_row = 0;  ///< rounds
    std::int32_t alike_in_a_row = 0;  ///< quick rounds with the same kind of failure
    std::chrono::milliseconds pause{};
    std::string kind;  ///< kind of the latest failure
    bool operator==(const RestartCounters&) const = default;
};

/// Ages of a host's losses at the time of the message. Clocks of two machines are never compared.
struct HostLosses {
    std::string host;
    std::vector<std::uint32_t> ages_ms;  ///< oldest first
    std::uint32_t cooldown_ms = 0;       ///< the latest one imposed; 0: none
    bool operator==(const HostLosses&) const = default;
};

struct JobProgress {
    RestartCounters restarts;
    std::int32_t first_group_size = 0;  ///< nodes of the first round: the limit for ScaleUp::never; 0: none yet
    std::vector<HostLosses> losses;     ///< of the last ten minutes; to a member only of the hosts lost most often
    bool operator==(const JobProgress&) const = default;
};

/// The ranks of a round whose workers ended otherwise than by a failure of their own.
struct RankOutcomes {
    RankRanges stopped;   ///< by their agents, for a failure elsewhere
    RankRanges finished;  ///< exited with 0
    RankRanges outlived;  ///< still ran at the job's time limit
    bool operator==(const RankOutcomes&) const = default;
};

/// The result of the job, the same on every node.
struct Verdict {
    std::int32_t status = 0;
    std::string reason;                ///< for users; empty when the first cause explains the end
    std::vector<std::string> records;  ///< Cause::record of each node that sent one, first cause first
    RankOutcomes outcomes{};           ///< of all nodes, in the last round; empty: not known
    std::int32_t named_rank = -1;      ///< that lost peers name by its host; -1: none
    bool operator==(const Verdict&) const = default;
};

/// A round that is being stopped: the reason, and the decisions for the time after it.
struct PendingStop {
    std::string reason;
    bool excuses = false;            ///< failures of the round do not count
    std::string lost_host;           ///< of the latest lost member; empty: none was lost
    std::optional<Verdict> verdict;  ///< the job ends with it when the round has stopped
    bool with_causes = false;        ///< the round's failures are reported with the verdict
    bool yields = false;             ///< an earlier failure that counts takes precedence over the verdict
    bool operator==(const PendingStop&) const = default;
};

/// All decisions of a coordinator. Its successor starts from the snapshot instead of its own options.
struct Snapshot {
    std::uint64_t epoch = 0;
    JobConfig config;
    JobProgress progress;
    std::int32_t round = -1;      ///< the latest; a member may have been assigned to it
    std::int32_t group_size = 0;  ///< of that round
    /// Group ranks whose nodes do not come back: they have finished; while the round is being stopped, every member
    /// that was removed.
    std::vector<std::int32_t> gone;
    std::int32_t nodes = 0;      ///< that the coordinator knows, spares included; 0: unknown
    bool round_over = true;      ///< no worker of that round lives, and its consequences are decided
    bool complete = true;        ///< this coordinator knows every round that was started
    std::string restart_reason;  ///< of the next round
    std::optional<Verdict> verdict;
    std::optional<PendingStop> stop;
    bool operator==(const Snapshot&) const = default;
};

}  // namespace dlaunch::rendezvous
