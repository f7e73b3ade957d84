#include "rendezvous/discovery/etcd_claim.hpp"

#include <optional>

#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

/// Whether the claim is the one with this text, which holds a random number.
bool is_own(const EtcdKeys& keys, const std::string& content) { return keys.claim && keys.claim->value == content; }

}  // namespace

base::Result<bool> claim_in_etcd(EtcdClient& client, const EtcdSeat& seat, const EtcdKeys& seen) {
    const auto claim = client.grant(claim_seconds(seat.node_timeout));
    if (!claim) return claim.error();
    const auto record = client.grant(kRecordSeconds);
    if (!record) return record.error();
    const auto done = client.commit(to_claim(seat.prefix, seen, seat.content, *claim, *record));
    if (done && *done) return true;
    // The reply may be lost, or that of a repetition, which finds the claim of the first request.
    const auto now = client.keys_of(seat.prefix);
    if (!now) return now.error();
    if (is_own(keys_in(seat.prefix, *now), seat.content)) return true;
    client.revoke(*claim);
    client.revoke(*record);
    if (!done) return done.error();
    return false;
}

/// The lease is kept alive only after a look at the key: the key may have been deleted by hand, or the store emptied.
Claim::State EtcdClaim::renew() {
    const Time now = std::chrono::steady_clock::now();
    const auto all = client_.keys_of(held_.prefix);
    if (!all) return State::unknown;
    const EtcdKeys keys = keys_in(held_.prefix, *all);
    switch (owners_step(keys, held_.content, std::chrono::duration_cast<Milliseconds>(now - held_at_))) {
        case OwnersStep::claim_again: return claim_again(now, keys);
        case OwnersStep::give_up: return State::lost;
        case OwnersStep::keep_alive: break;
    }
    const auto lives = client_.keep_alive(keys.claim->lease);
    if (!lives || !*lives) return State::unknown;  // the next look shows what is there
    held_at_ = now;
    if (keys.record && now - record_kept_at_ >= kKeepRecordEvery) {
        static_cast<void>(client_.keep_alive(keys.record->lease));
        record_kept_at_ = now;
    }
    return State::held;
}

Claim::State EtcdClaim::claim_again(Time now, const EtcdKeys& seen) {
    const auto first = claim_in_etcd(client_, held_, seen);
    if (!first) return State::unknown;
    if (!*first) return State::lost;
    held_at_ = now;
    return State::held;
}

void EtcdClaim::remove() { static_cast<void>(client_.commit(to_remove(held_.prefix, held_.content))); }

void EtcdClaim::release(const std::string& snapshot) {
    const auto state = wire::decode_snapshot(snapshot);
    if (state && HandedOver{0, *state}.is_unused()) return remove();
    std::int64_t lease = 0;
    std::string handed = snapshot;
    if (!handed.empty()) {
        const auto granted = client_.grant(handed_seconds(held_.node_timeout));
        granted ? void(lease = *granted) : handed.clear();
    }
    static_cast<void>(client_.commit(to_release(held_.prefix, held_.content, handed, lease)));
}

}  // namespace dlaunch::rendezvous
