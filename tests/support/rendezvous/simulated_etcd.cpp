#include "tests/support/rendezvous/simulated_etcd.hpp"

#include <algorithm>

namespace dlaunch::rendezvous::simulation {
namespace {

constexpr Milliseconds kLooksEvery{500};

}  // namespace

void SimulatedEtcd::end(std::int64_t lease) {
    leases_.erase(lease);
    if (std::erase_if(keys_, [&](const auto& key) { return key.second.lease == lease; }) > 0) ++revision_;
}

void SimulatedEtcd::expire(Time now) {
    const Time looked{std::chrono::duration_cast<Milliseconds>(now.time_since_epoch()) / kLooksEvery * kLooksEvery};
    std::vector<std::int64_t> ended;
    for (const auto& [number, lease] : leases_)
        if (lease.ends <= looked) ended.push_back(number);
    for (const std::int64_t number : ended) end(number);
}

std::vector<etcd::KeyValue> SimulatedEtcd::all(Time now) {
    expire(now);
    std::vector<etcd::KeyValue> found;
    for (const auto& [name, key] : keys_) found.push_back(key);
    return found;
}

bool SimulatedEtcd::holds(const etcd::Compare& compare) const {
    using What = etcd::Compare::What;
    const auto found = keys_.find(compare.key);
    const etcd::KeyValue none, &key = found == keys_.end() ? none : found->second;
    switch (compare.what) {
        case What::create_revision: return key.create_revision == compare.revision;
        case What::mod_revision: return key.mod_revision == compare.revision;
        case What::value: return found != keys_.end() && key.value == compare.value;
    }
    return false;
}

std::optional<bool> SimulatedEtcd::commit(Time now, const etcd::Transaction& transaction) {
    expire(now);
    if (!std::ranges::all_of(transaction.compares, [this](const auto& compare) { return holds(compare); }))
        return false;
    for (const etcd::Put& put : transaction.puts)
        if (put.lease != 0 && !leases_.contains(put.lease)) return std::nullopt;
    ++revision_;
    for (const etcd::Put& put : transaction.puts) {
        etcd::KeyValue& key = keys_[put.key];
        if (key.create_revision == 0) key.create_revision = revision_;
        key = {put.key, put.value, key.create_revision, revision_, put.lease};
    }
    for (const std::string& name : transaction.deletes) keys_.erase(name);
    return true;
}

std::int64_t SimulatedEtcd::grant(Time now, std::int64_t seconds) {
    expire(now);
    const Milliseconds time = std::chrono::seconds(seconds);
    leases_[++lease_numbers_] = {time, now + time};
    return lease_numbers_;
}

bool SimulatedEtcd::keep_alive(Time now, std::int64_t lease) {
    expire(now);
    const auto found = leases_.find(lease);
    if (found == leases_.end()) return false;
    found->second.ends = now + found->second.time;
    return true;
}

void SimulatedEtcd::revoke(Time now, std::int64_t lease) {
    expire(now);
    end(lease);
}

void SimulatedEtcd::change_leader(Time now) {
    for (auto& [number, lease] : leases_) lease.ends = now + lease.time;
}

void SimulatedEtcd::lose_data() {
    keys_.clear();
    leases_.clear();
    revision_ = 1;
}

void SimulatedEtcd::remove(const std::string& key) {
    if (keys_.erase(key) > 0) ++revision_;
}

}  // namespace dlaunch::rendezvous::simulation
