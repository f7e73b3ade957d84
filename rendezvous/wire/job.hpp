#pragma once
/// What a job was configured as, and how far it has come. Members carry both to a successor of their coordinator; the
/// coordinator's snapshot holds them for its guard and for its claim. Plain data; the bytes are in wire/rounds.hpp.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch::rendezvous {

enum class ScaleUp : std::uint8_t { immediate, on_restart, never };

struct RestartLimits {
    int max_restarts = 0;
    std::chrono::milliseconds first{100}, most{30'000};  ///< pauses
    std::chrono::milliseconds healthy{10'000};           ///< a round that lasted longer was no quick one
    int crash_loop = 10;                                 ///< quick rounds in a row that ended alike; 0: never
    bool operator==(const RestartLimits&) const = default;
};

/// When a host that was lost again and again is admitted. `first` 0: at once.
struct CooldownLimits {
    std::chrono::milliseconds first{10'000}, most{300'000};
    bool operator==(const CooldownLimits&) const = default;
};

/// The options of the job. The first coordinator's values apply on all nodes and under all its successors.
struct JobConfig {
    int min_nodes = 1, max_nodes = 1;
    /// After min_nodes are there, before the first round (none when min = max); after a newcomer, before the running
    /// round is stopped to take the newcomers in.
    std::chrono::milliseconds last_call{30'000};
    std::chrono::milliseconds join_timeout{600'000};
    std::chrono::milliseconds node_timeout{5'000};  ///< silence after which a node is lost
    RestartLimits restarts;
    CooldownLimits cooldown;
    ScaleUp scale_up = ScaleUp::immediate;
    bool fixed_ranks = false;        ///< static: a rank has one node, and no other may wait for it
    std::string master_addr;         ///< of the worker store; empty: the address of group rank 0's node
    std::optional<int> master_port;  ///< none: the port that group rank 0 opened
    bool operator==(const JobConfig&) const = default;
};

/// Restarts and quick rounds so far.
struct RestartCounters {
    std::int32_t used = 0;            ///< of max_restarts
    std::int32_t quick_in_a_row = 0;  ///< rounds
    std::int32_t alike_in_a_row = 0;  ///< of those
    std::chrono::milliseconds pause{};
    std::string kind;  ///< of the latest failure
    bool operator==(const RestartCounters&) const = default;
};

struct JobProgress {
    RestartCounters restarts;
    std::int32_t first_group_size = 0;  ///< nodes of the first round: the limit for ScaleUp::never; 0: none yet
    bool operator==(const JobProgress&) const = default;
};

/// When members of a host were lost, counted back from the snapshot. Clocks of two machines are not compared.
struct HostLosses {
    std::string host;
    std::vector<std::uint32_t> ages_ms;  ///< oldest first
    std::uint32_t cooldown_ms = 0;       ///< the latest; 0: none
    bool operator==(const HostLosses&) const = default;
};

/// The job is over: what every node ends with.
struct Verdict {
    std::int32_t status = 0;
    std::string reason;                ///< in words, when it is not the first cause itself
    std::vector<std::string> records;  ///< Cause::record of each node that has one, first cause first
    bool operator==(const Verdict&) const = default;
};

/// All that a coordinator has decided. Its successor starts from the snapshot instead of its own options.
struct Snapshot {
    std::uint64_t epoch = 0;
    JobConfig config;
    JobProgress progress;
    std::int32_t round = -1;      ///< the latest; a member may have been assigned to it
    std::int32_t group_size = 0;  ///< of that round
    bool round_over = true;       ///< nothing of that round lives, and what follows from it is decided
    bool complete = true;         ///< no round was started that this coordinator does not know
    std::string restart_reason;   ///< of the next round
    std::vector<HostLosses> losses;
    std::optional<Verdict> verdict;
    bool operator==(const Snapshot&) const = default;
};

}  // namespace dlaunch::rendezvous
