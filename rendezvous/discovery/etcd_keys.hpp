#pragma once
/// The keys of a job in etcd, and the transactions on them. See etcd.hpp. No I/O.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/discovery/etcd_wire.hpp"

namespace dlaunch::rendezvous {

/// The keys as they were at one moment.
struct EtcdKeys {
    std::optional<etcd::KeyValue> claim;   ///< there while the coordinator renews its lease
    std::optional<etcd::KeyValue> record;  ///< the text of the latest claim; outlives it by most of a minute
    std::optional<etcd::KeyValue> handed;  ///< the snapshot of a coordinator that has handed over lately

    /// No coordinator serves the job, or it has ended.
    [[nodiscard]] bool are_missing() const { return !claim && !record; }
};

/// The next step of the owner of a claim, when it has read the keys.
enum class OwnersStep : std::uint8_t {
    keep_alive,
    claim_again,  ///< the keys were lost under a valid claim; the owner still serves, and competes with newcomers
    give_up,      ///< another owner has the claim, or had it in between
};
/// `since_held`: since the request of the latest renewal.
[[nodiscard]] OwnersStep owners_step(const EtcdKeys& seen, const std::string& content, Milliseconds since_held);

[[nodiscard]] std::string etcd_prefix(const std::string& prefix, const std::string& job_id);
[[nodiscard]] EtcdKeys keys_in(const std::string& prefix, const std::vector<etcd::KeyValue>& all);

/// etcd deletes a claim so many seconds after its latest renewal: half of the node time-out, but no lease of etcd is
/// shorter than 2 s.
[[nodiscard]] std::int64_t claim_seconds(Milliseconds node_timeout);
/// Time in which a successor may take a handed-over snapshot for the present state.
[[nodiscard]] std::int64_t handed_seconds(Milliseconds node_timeout);
inline constexpr std::int64_t kRecordSeconds = 60;
inline constexpr auto kKeepRecordEvery = std::chrono::seconds(kRecordSeconds / 6);

/// Claims the job, if there is no claim, and the record is the one that the claimant has seen.
[[nodiscard]] etcd::Transaction to_claim(const std::string& prefix, const EtcdKeys& seen, const std::string& content,
                                         std::int64_t claim_lease, std::int64_t record_lease);
/// Ends the job: deletes all of its keys, if the claim is still this one.
[[nodiscard]] etcd::Transaction to_remove(const std::string& prefix, const std::string& content);
/// Releases the claim to other nodes, with a snapshot if it is not empty.
[[nodiscard]] etcd::Transaction to_release(const std::string& prefix, const std::string& content,
                                           const std::string& snapshot, std::int64_t handed_lease);

}  // namespace dlaunch::rendezvous
