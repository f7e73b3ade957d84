#pragma once
/// Discovery by etcd: the first node claims the job with a key, and hosts the coordinator.
///
/// The key `<prefix>/<job>/claim` has the lease of its owner, which renews it twice a second (etcd_claim.hpp). etcd
/// deletes it when the owner has been silent for half of the node time-out, and the first node that finds none claims
/// again, in a transaction that holds only if there is no claim. A second key, `record`, has the same text and outlives
/// the claim by a minute: it distinguishes a dead coordinator from an ended job, which deletes both keys, and a
/// claimant takes an epoch above the record's. A coordinator that hands over leaves its snapshot in `handed`.
///
/// A coordinator is dead at once when its port has refused connections for a second, for its guard holds the listener:
/// then an observer revokes the lease.
///
/// The store may be emptied under a living job. Then the owner and newcomers compete for the claim, as with an emptied
/// folder (folder.hpp).

#include <mutex>
#include <optional>
#include <string>

#include "rendezvous/discovery/etcd_client.hpp"
#include "rendezvous/discovery/etcd_keys.hpp"
#include "rendezvous/discovery/moving.hpp"

namespace dlaunch::rendezvous {

class EtcdDiscovery : public MovingDiscovery {
public:
    explicit EtcdDiscovery(DiscoveryRequest request);

    [[nodiscard]] base::Result<DiscoveryResult> find() override;
    [[nodiscard]] bool is_vacant() override;
    [[nodiscard]] bool stays_gone() override;
    [[nodiscard]] bool may_be_vacant() override;

private:
    [[nodiscard]] base::Result<EtcdKeys> look();
    [[nodiscard]] bool is_missing() const;
    [[nodiscard]] bool is_refused(const etcd::KeyValue& claim);
    [[nodiscard]] base::Result<DiscoveryResult> joining(const etcd::KeyValue& claim) const;
    [[nodiscard]] base::Result<DiscoveryResult> own_address() const;
    [[nodiscard]] base::Result<DiscoveryResult> unanswered(const base::Error& error) const;
    [[nodiscard]] base::Result<DiscoveryResult> take_over(DiscoveryResult found, const EtcdKeys& after);

    const DiscoveryRequest request_;
    const std::string prefix_;  ///< of the job's keys
    EtcdClient client_;
    mutable std::mutex seen_mutex_;      ///< a standby's look and a find() may overlap
    std::optional<Time> missing_since_;  ///< the first look without any key after the latest look with one
};

}  // namespace dlaunch::rendezvous
