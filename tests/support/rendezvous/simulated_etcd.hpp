#pragma once
/// A model of an etcd cluster: keys, revisions, transactions, and leases by the cluster's own clock. Ended leases are
/// looked for twice a second, and a new leader extends all of them, as etcd does. No I/O, no clock.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/base/time.hpp"
#include "rendezvous/discovery/etcd_wire.hpp"

namespace dlaunch::rendezvous::simulation {

class SimulatedEtcd {
public:
    [[nodiscard]] std::vector<etcd::KeyValue> all(Time now);
    /// Whether the compares held; none: a lease of a put has ended.
    std::optional<bool> commit(Time now, const etcd::Transaction& transaction);
    std::int64_t grant(Time now, std::int64_t seconds);
    /// False: the lease has ended.
    bool keep_alive(Time now, std::int64_t lease);
    void revoke(Time now, std::int64_t lease);

    void change_leader(Time now);
    void lose_data();
    void remove(const std::string& key);

private:
    struct Lease {
        Milliseconds time{0};
        Time ends;
    };

    void expire(Time now);
    void end(std::int64_t lease);
    [[nodiscard]] bool holds(const etcd::Compare& compare) const;

    std::map<std::string, etcd::KeyValue> keys_;
    std::map<std::int64_t, Lease> leases_;
    std::int64_t revision_ = 1, lease_numbers_ = 0;
};

}  // namespace dlaunch::rendezvous::simulation
