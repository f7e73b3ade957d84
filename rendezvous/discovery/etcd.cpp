#include "rendezvous/discovery/etcd.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/discovery/claim_text.hpp"
#include "rendezvous/discovery/etcd_claim.hpp"
#include "rendezvous/discovery/fixed.hpp"
#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/probe.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

using base::Error;
using base::Result;

constexpr auto kAnswerIn = Milliseconds(200);
constexpr auto kClosedPort = Milliseconds(1'000);
constexpr auto kLookAgain = Milliseconds(100);

std::int64_t now_ms() {
    return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

EtcdDiscovery::EtcdDiscovery(DiscoveryRequest request)
    : MovingDiscovery(request.known_epoch),
      request_(std::move(request)),
      prefix_(etcd_prefix(request_.at.etcd.prefix, request_.job_id)),
      client_(request_.at.etcd) {}

Result<EtcdKeys> EtcdDiscovery::look() {
    const auto all = client_.keys_of(prefix_);
    if (!all) return all.error();
    EtcdKeys keys = keys_in(prefix_, *all);
    const std::lock_guard lock(seen_mutex_);
    if (!keys.are_missing())
        missing_since_.reset();
    else if (!missing_since_)
        missing_since_ = std::chrono::steady_clock::now();
    return keys;
}

/// Whether the keys have been missing for so long that the owner does not claim again.
bool EtcdDiscovery::is_missing() const {
    const std::lock_guard lock(seen_mutex_);
    return missing_since_ && std::chrono::steady_clock::now() - *missing_since_ >= kMissingForGood;
}

bool EtcdDiscovery::is_vacant() {
    const auto keys = look();
    if (!keys || keys->claim) return false;  // an etcd that does not answer proves nothing
    return keys->record || is_missing();
}

bool EtcdDiscovery::may_be_vacant() {
    const auto keys = look();
    return keys && !keys->claim;
}

bool EtcdDiscovery::stays_gone() {
    const auto end = std::chrono::steady_clock::now() + kMissingForGood;
    for (;;) {
        const auto keys = look();
        if (!keys || !keys->are_missing()) return false;
        if (std::chrono::steady_clock::now() >= end) return true;
        std::this_thread::sleep_for(kLookAgain);
    }
}

/// Watches the coordinator's port until it does not refuse, the claim changes, or it has refused for long enough.
bool EtcdDiscovery::is_refused(const etcd::KeyValue& claim) {
    const Endpoint place = place_in(claim.value);
    for (const Time end = std::chrono::steady_clock::now() + kClosedPort;;) {
        const bool refuses =
            place.port == 0 ||
            probe(place.host, place.port, request_.version, request_.job_id, kAnswerIn, request_.tls).kind ==
                Answer::Kind::closed_port;
        if (!refuses) return false;
        const auto keys = look();
        if (!keys || !keys->claim || keys->claim->create_revision != claim.create_revision) return false;
        if (std::chrono::steady_clock::now() >= end) return true;
        std::this_thread::sleep_for(kLookAgain);
    }
}

Result<DiscoveryResult> EtcdDiscovery::joining(const etcd::KeyValue& claim) const {
    const Endpoint place = place_in(claim.value);
    DiscoveryResult found{{{place, place.host}}, std::nullopt};
    found.epoch = epoch_in(claim.value);
    auto chosen = choose_address(request_, {}, own_address_towards(place.host), found);
    if (!chosen) return chosen.error();
    return found;
}

/// The address towards etcd, which all nodes reach.
Result<DiscoveryResult> EtcdDiscovery::own_address() const {
    std::string towards;
    for (const Endpoint& member : request_.at.etcd.members)
        if (const auto numbers = addresses_of(member.host); towards.empty() && numbers && !numbers->empty())
            towards = own_address_towards(numbers->front());
    DiscoveryResult found;
    if (auto chosen = choose_address(request_, {}, towards, found); !chosen) return chosen.error();
    return found;
}

/// A node that has not joined yet repeats find(), until its time-out.
Result<DiscoveryResult> EtcdDiscovery::unanswered(const Error& error) const {
    if (known_epoch_ > 0 || request_.only_look)
        return Error{request_.option + ": " + error.text, exit_status::kRendezvousTimeout};
    DiscoveryResult found;
    for (const Endpoint& member : request_.at.etcd.members) found.places.push_back({member, {}});
    found.problem = error.text;
    return found;
}

Result<DiscoveryResult> EtcdDiscovery::find() {
    if (auto ready = client_.prepare(); !ready) return ready.error();
    for (std::optional<std::int64_t> waited_for;;) {  // a record's revision
        const auto keys = look();
        if (!keys) return unanswered(keys.error());
        if (keys->are_missing() && known_epoch_ > 0) {
            if (!is_missing()) {  // the owner may claim again
                std::this_thread::sleep_for(kLookAgain);
                continue;
            }
            if (request_.ends_with_job) return DiscoveryResult{};
        }
        if (keys->claim) {
            if (is_refused(*keys->claim)) {
                client_.revoke(keys->claim->lease);
                continue;
            }
            const auto again = look();
            if (!again) return unanswered(again.error());
            if (!again->claim || again->claim->create_revision != keys->claim->create_revision) continue;
            return joining(*again->claim);
        }
        auto found = own_address();
        if (!found || request_.only_look) return found;
        const std::int64_t record = keys->record ? keys->record->mod_revision : 0;
        if (known_epoch_ > 0 && std::exchange(waited_for, record) != record) {
            std::this_thread::sleep_for(waits_.load());
            continue;
        }
        auto taken = take_over(std::move(*found), *keys);
        if (!taken || taken->listener || taken->has_no_address()) return taken;
    }
}

/// The result has no listener, and an address, if another node was first.
Result<DiscoveryResult> EtcdDiscovery::take_over(DiscoveryResult found, const EtcdKeys& after) {
    const auto place = own_place(found.bind_to);
    if (!place) return place.error();
    const std::uint64_t before = after.record ? epoch_in(after.record->value) : 0;
    found.epoch = epoch_after(std::max<std::uint64_t>(known_epoch_, before), now_ms());
    found.places = {{*place, found.bind_to}};
    const EtcdSeat seat{request_.at.etcd, prefix_, claim_text(*place, request_.host_name, found.epoch),
                        request_.node_timeout};
    const auto first = claim_in_etcd(client_, seat, after);
    if (!first) return unanswered(first.error());
    if (!*first) return found;
    auto listener = listen();
    if (!listener) return listener.error();
    // The port refused until now. If this node was frozen meanwhile, other nodes have taken its claim for dead.
    const auto now = look();
    if (!now) return unanswered(now.error());
    if (!now->claim || now->claim->value != seat.content) return found;
    found.succeeds = after.record || known_epoch_ > 0;
    if (auto snapshot = after.handed ? wire::decode_snapshot(after.handed->value) : std::nullopt) {
        HandedOver handed{0, std::move(*snapshot)};
        if (handed.is_unused())
            found.succeeds = false;
        else if (known_epoch_ > 0)  // a node without an earlier epoch may start the job anew, with other options
            found.snapshot = std::move(handed.snapshot);
    }
    found.listener = std::move(*listener);
    found.claim = seat;
    return found;
}

}  // namespace dlaunch::rendezvous
