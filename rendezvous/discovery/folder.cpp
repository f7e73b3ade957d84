#include "rendezvous/discovery/folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "rendezvous/base/files.hpp"
#include "rendezvous/discovery/claim_text.hpp"
#include "rendezvous/discovery/fixed.hpp"
#include "rendezvous/discovery/folder_claim.hpp"
#include "rendezvous/discovery/part_file.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/probe.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr auto kAnswerIn = Milliseconds(200);      // meanwhile the claim may be released and taken by another node
constexpr auto kClosedPort = Milliseconds(1'000);  // two renewals of a living owner
constexpr auto kLookAgain = Milliseconds(100);

}  // namespace

FolderDiscovery::FolderDiscovery(DiscoveryRequest request)
    : MovingDiscovery(request.known_epoch),
      request_(std::move(request)),
      prefix_(claim_prefix(request_.at.folder, request_.job_id)) {}

base::Error FolderDiscovery::failed(const char* what, const std::string& why) const {
    return {fmt::format("--rdzv-endpoint: {} file://{}: {}, expected a folder that all nodes share and may write to",
                        what, request_.at.folder, why)};
}

std::string FolderDiscovery::content(const Endpoint& place, std::uint64_t epoch) const {
    return claim_text(place, request_.host_name, epoch);
}

base::Result<std::optional<FolderDiscovery::Latest>> FolderDiscovery::latest() {
    const auto numbers = claims_in(prefix_);
    if (!numbers) return failed("cannot read", numbers.error().text);
    {
        const std::lock_guard lock(seen_mutex_);
        if (!numbers->empty())
            missing_since_.reset();
        else if (!missing_since_)
            missing_since_ = std::chrono::steady_clock::now();
    }
    if (numbers->empty()) return std::optional<Latest>();
    Latest found;
    found.number = std::ranges::max(*numbers);
    found.path = prefix_ + std::to_string(found.number);
    const std::string text = base::text_of(found.path);
    found.epoch = epoch_in(text);
    found.place = place_in(text);
    return std::optional<Latest>(found);
}

/// Time since this object last saw the claim change; Milliseconds::max() for a claim that is released. A claim that
/// cannot be opened, as it was just removed, has not changed.
Milliseconds FolderDiscovery::unchanged_for(const Latest& claim) {
    const Time now = std::chrono::steady_clock::now();
    const auto renewed = renewed_at(claim.path);
    if (renewed && is_released(*renewed)) return Milliseconds::max();
    const std::lock_guard lock(seen_mutex_);
    const bool is_same =
        seen_.number == claim.number &&
        (!renewed || (seen_.renewed.tv_sec == renewed->tv_sec && seen_.renewed.tv_nsec == renewed->tv_nsec));
    if (!is_same) seen_ = {claim.number, renewed.value_or(timespec{}), now};
    return std::chrono::duration_cast<Milliseconds>(now - seen_.since);
}

Time FolderDiscovery::last_change() const {
    const std::lock_guard lock(seen_mutex_);
    return seen_.since;
}

/// Whether the claim has been missing for so long that its owner does not claim again.
bool FolderDiscovery::is_missing() const {
    const std::lock_guard lock(seen_mutex_);
    return missing_since_ && std::chrono::steady_clock::now() - *missing_since_ >= kMissingForGood;
}

bool FolderDiscovery::is_vacant() {
    const auto there = latest();
    if (!there) return false;  // an unreadable folder proves nothing
    return *there ? unchanged_for(**there) >= claim_dies_after(request_.node_timeout) : is_missing();
}

bool FolderDiscovery::may_be_vacant() {
    const auto there = latest();
    return there && (!*there || unchanged_for(**there) >= kClosedPort);
}

bool FolderDiscovery::is_gone() {
    const auto there = latest();
    return there && !*there;
}

bool FolderDiscovery::stays_gone() {
    const auto end = std::chrono::steady_clock::now() + kMissingForGood;
    while (is_gone()) {
        if (std::chrono::steady_clock::now() >= end) return true;
        std::this_thread::sleep_for(kLookAgain);
    }
    return false;
}

/// Watches the claim until it is renewed or removed, its coordinator answers, or it has not changed for long enough.
bool FolderDiscovery::is_dead(const Latest& claim) {
    using Kind = Answer::Kind;
    (void)unchanged_for(claim);
    for (const Time first_seen = last_change();;) {
        const Answer answer = claim.place.port ? probe(claim.place.host, claim.place.port, request_.version,
                                                       request_.job_id, kAnswerIn, request_.tls)
                                               : Answer{Kind::closed_port, {}};
        const auto unchanged = unchanged_for(claim);
        if (unchanged == Milliseconds::max()) return true;
        if (answer.kind == Kind::coordinator || last_change() != first_seen) return false;
        if (access(claim.path.c_str(), F_OK) != 0 && errno == ENOENT) return false;
        const auto patience = answer.kind == Kind::closed_port ? kClosedPort : claim_dies_after(request_.node_timeout);
        if (unchanged >= patience) return true;
        std::this_thread::sleep_for(kLookAgain);
    }
}

/// Writes a file like a claim under another name, because a full disk shows only on a write.
base::Result<void> FolderDiscovery::try_to_write(const Endpoint& place) const {
    PartFile part(prefix_);
    if (auto created = part.create(); !created) return failed("cannot write to", created.error().text);
    if (auto written = part.write(content(place, 0)); !written) return failed("cannot write to", written.error().text);
    const std::string name = part.path() + ".check";
    if (auto linked = part.link_as(name); !linked) return failed("cannot write to", linked.error().text);
    unlink(name.c_str());
    return {};
}

base::Result<DiscoveryResult> FolderDiscovery::find() {
    for (std::optional<std::uint64_t> waited_for;;) {  // a claim's number
        auto there = latest();
        if (!there && known_epoch_ > 0) {  // the folder existed when this node joined
            mkdir(request_.at.folder.c_str(), 0777);
            there = latest();
        }
        if (!there) return there.error();
        if (!*there && known_epoch_ > 0 && !is_missing()) {  // the owner may claim again
            std::this_thread::sleep_for(kLookAgain);
            continue;
        }
        if (!*there && known_epoch_ > 0 && request_.ends_with_job) return DiscoveryResult{};
        const std::uint64_t number = *there ? (*there)->number : 0;
        if (number && !is_dead(**there)) {
            auto again = latest();  // the claim may have changed meanwhile
            if (!again) return again.error();
            if (!*again || (*again)->number != number) continue;
            const Endpoint& place = (*there)->place;
            DiscoveryResult found{{{place, place.host}}, std::nullopt};
            found.epoch = (*there)->epoch;
            auto chosen = choose_address(request_, {}, own_address_towards(place.host), found);
            if (!chosen) return chosen.error();
            return found;
        }
        DiscoveryResult found;
        if (auto chosen = choose_address(request_, {}, {}, found); !chosen) return chosen.error();
        if (found.bind_to.starts_with("127.") && request_.local_addr.empty())
            return base::Error{
                "--rdzv-endpoint: no interface with an address that other nodes could reach, expected "
                "--local-addr"};
        if (request_.only_look) {
            if (auto writable = try_to_write({found.bind_to, 0}); !writable) return writable.error();
            return found;
        }
        if (known_epoch_ > 0 && std::exchange(waited_for, number) != number) {
            std::this_thread::sleep_for(waits_.load());
            continue;
        }
        auto taken = take_over(std::move(found), there->value_or(Latest{}));
        if (!taken) return taken.error();
        if (taken->listener) return std::move(*taken);
    }
}

std::optional<HandedOver> FolderDiscovery::released_as(const Latest& claim) {
    const auto renewed = claim.number ? renewed_at(claim.path) : std::nullopt;
    if (!renewed || !is_released(*renewed)) return std::nullopt;
    return handed_over_in(base::text_of(claim.path));
}

/// Claims the number after the latest claim. The epoch is above all that this node has seen, and at least the time, so
/// that a newcomer in a folder that was emptied under a living job repeats no epoch. The result has no listener if
/// another node was first.
base::Result<DiscoveryResult> FolderDiscovery::take_over(DiscoveryResult found, const Latest& after) {
    const auto place = own_place(found.bind_to);
    if (!place) return place.error();
    FolderSeat claim;
    claim.number = after.number + 1;
    claim.path = prefix_ + std::to_string(claim.number);
    std::int64_t claimed_at_ms = 0;
    auto first = create_claim(claim.path, [&](std::int64_t now_ms) {
        claimed_at_ms = now_ms;
        found.epoch = epoch_after(std::max<std::uint64_t>(known_epoch_, after.epoch), now_ms);
        claim.content = content(*place, found.epoch);
        return claim.content;
    });
    if (!first) return failed("cannot write to", first.error().text);
    if (!*first) return found;
    auto listener = listen();
    if (!listener) return listener.error();
    // The port refused until now. If this node was frozen meanwhile, other nodes have taken its claim for dead.
    const auto now = latest();
    if (!now) return now.error();
    if (!*now || (*now)->number != claim.number) return found;
    found.succeeds = after.number > 0 || known_epoch_ > 0;
    if (auto released = released_as(after)) {
        if (released->is_unused()) found.succeeds = false;
        // A node without an earlier epoch may start the job anew, with other options.
        else if (known_epoch_ > 0 && claimed_at_ms - released->at_ms <= request_.node_timeout.count())
            found.snapshot = std::move(released->snapshot);
    }
    for (std::uint64_t old = after.number; old > 0; --old)
        if (unlink((prefix_ + std::to_string(old)).c_str()) != 0) break;
    found.places = {{*place, found.bind_to}};
    found.listener = std::move(*listener);
    found.claim = std::move(claim);
    return found;
}

}  // namespace dlaunch::rendezvous
