#include "rendezvous/discovery/etcd_keys.hpp"

#include <algorithm>

#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/discovery/claim_text.hpp"

namespace dlaunch::rendezvous {
namespace {

using What = etcd::Compare::What;

constexpr const char* kClaim = "claim";
constexpr const char* kRecord = "record";
constexpr const char* kHanded = "handed";
constexpr std::int64_t kLeastSeconds = 2;

std::int64_t seconds_of(Milliseconds time) {
    constexpr std::int64_t kSecond = 1'000;
    return std::max((time.count() + kSecond - 1) / kSecond, kLeastSeconds);
}

etcd::Compare is_own(const std::string& prefix, const std::string& content) {
    return {What::value, prefix + kClaim, 0, content};
}

}  // namespace

std::string etcd_prefix(const std::string& prefix, const std::string& job_id) {
    return prefix + "/" + file_name_of_job(job_id) + "/";
}

EtcdKeys keys_in(const std::string& prefix, const std::vector<etcd::KeyValue>& all) {
    EtcdKeys found;
    for (const etcd::KeyValue& each : all) {
        if (each.key == prefix + kClaim) found.claim = each;
        if (each.key == prefix + kRecord) found.record = each;
        if (each.key == prefix + kHanded) found.handed = each;
    }
    return found;
}

/// The content holds a random number. A record of another owner shows that there was one in between.
OwnersStep owners_step(const EtcdKeys& seen, const std::string& content, Milliseconds since_held) {
    if (seen.claim) return seen.claim->value == content ? OwnersStep::keep_alive : OwnersStep::give_up;
    const bool is_late = since_held > kMayClaimAgain || (seen.record && seen.record->value != content);
    return is_late ? OwnersStep::give_up : OwnersStep::claim_again;
}

std::int64_t claim_seconds(Milliseconds node_timeout) { return seconds_of(claim_dies_after(node_timeout)); }
std::int64_t handed_seconds(Milliseconds node_timeout) { return seconds_of(node_timeout); }

etcd::Transaction to_claim(const std::string& prefix, const EtcdKeys& seen, const std::string& content,
                           std::int64_t claim_lease, std::int64_t record_lease) {
    const std::int64_t record = seen.record ? seen.record->mod_revision : 0;
    return {.compares = {{What::create_revision, prefix + kClaim, 0, {}},
                         {What::mod_revision, prefix + kRecord, record, {}}},
            .puts = {{prefix + kClaim, content, claim_lease}, {prefix + kRecord, content, record_lease}},
            .deletes = {prefix + kHanded}};
}

etcd::Transaction to_remove(const std::string& prefix, const std::string& content) {
    return {.compares = {is_own(prefix, content)},
            .puts = {},
            .deletes = {prefix + kClaim, prefix + kRecord, prefix + kHanded}};
}

etcd::Transaction to_release(const std::string& prefix, const std::string& content, const std::string& snapshot,
                             std::int64_t handed_lease) {
    etcd::Transaction transaction{.compares = {is_own(prefix, content)}, .puts = {}, .deletes = {prefix + kClaim}};
    if (!snapshot.empty()) transaction.puts.push_back({prefix + kHanded, snapshot, handed_lease});
    return transaction;
}

}  // namespace dlaunch::rendezvous
