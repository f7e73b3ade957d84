#pragma once
/// A claim as a key in etcd, which a lease deletes when its owner is silent. See etcd.hpp.

#include <cstdint>
#include <string>
#include <utility>

#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/discovery/etcd_client.hpp"
#include "rendezvous/discovery/etcd_keys.hpp"

namespace dlaunch::rendezvous {

class EtcdClaim : public Claim {
public:
    explicit EtcdClaim(EtcdSeat held) : held_(std::move(held)), client_(held_.at), held_at_(held_.asked) {}

    [[nodiscard]] State renew() override;
    void remove() override;
    void release(const std::string& snapshot) override;

private:
    [[nodiscard]] State claim_again(Time now, const EtcdKeys& seen);

    const EtcdSeat held_;
    EtcdClient client_;
    Time held_at_;           ///< start of the latest successful renewal
    Time record_kept_at_{};  ///< its lease ends much later, and its renewal must not delay the claim's
};

/// Claims the job with these leases, and finds out whether that has succeeded, also if the reply was lost. False:
/// another process was first.
[[nodiscard]] base::Result<bool> claim_in_etcd(EtcdClient& client, const EtcdSeat& seat, const EtcdKeys& seen);

}  // namespace dlaunch::rendezvous
