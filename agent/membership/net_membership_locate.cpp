/// Locates the job's coordinator: before there is a member, and again when a movable coordinator is lost.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "agent/membership/net_membership.hpp"
#include "agent/membership/net_options.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;

namespace {

constexpr int kProgress_s = 10;
constexpr auto kLocateAgain = std::chrono::milliseconds(200);
constexpr auto kAskAgain = std::chrono::milliseconds(500);  // for names without an address

}  // namespace

void NetMembership::join(Orders orders) {
    orders_ = std::move(orders);
    if (alone_) return begin_alone();
    discovery_ = r::make_discovery(question_of(plan_, host_name_));
    find_coordinator();
    still_finding(0);
}

/// A job of one node: the coordinator is in memory, and nothing is to be located.
void NetMembership::begin_alone() {
    const RendezvousPlan& rendezvous = plan_.rendezvous;
    advertised_ = address_alone(rendezvous);
    look_up(advertised_, [this, port = rendezvous.master_port.value_or(0)](const std::string& address) {
        bind_to_ = address;
        if (auto listens = store_.listen(bind_to_, {}, port); !listens)
            return end_before_joining(listens.error().status, cannot_serve(listens.error().text));
        make_member({});
        act();
    });
}

/// Hands on the first address of a name, from a thread that may wait for a name server; an address, and a name without
/// one, as they are.
void NetMembership::look_up(const std::string& name, std::function<void(const std::string&)> then) {
    if (name.empty() || r::is_numeric(name)) return then(name);
    finding_ = base::Aside(loop_, [this, name, then = std::move(then)]() -> std::function<void()> {
        auto found = r::addresses_of(name);
        return [this, then, address = found ? found->front() : name] {
            finding_ = {};
            then(address);
        };
    });
}

/// Runs the discovery in the background, because the loop must receive signals meanwhile.
void NetMembership::find_coordinator() {
    finding_ = base::Aside(loop_, [this, discovery = discovery_]() -> std::function<void()> {
        auto found = std::make_shared<base::Result<r::Found>>(discovery->find());
        return [this, found] { on_found(std::move(*found)); };
    });
}

void NetMembership::still_finding(int waited_s) {
    const auto limit = plan_.rendezvous.answer_timeout;
    const std::string& place =
        plan_.rendezvous.backend == Backend::fixed_address ? plan_.rendezvous.master_addr : plan_.rendezvous.endpoint;
    const std::string what = fmt::format("looking for {}{}", place, problem_.empty() ? "" : " (" + problem_ + ")");
    if (waited_s > 0 && std::chrono::seconds(waited_s) >= limit)
        return end_before_joining(exit_status::kRendezvousTimeout,
                                  fmt::format("rendezvous timed out after {} s: still {}", waited_s, what));
    if (waited_s > 0 && waited_s % kProgress_s == 0) orders_.tell("waiting, " + what);
    finding_timer_ = loop_.after(std::chrono::seconds(1), [this, waited_s] { still_finding(waited_s + 1); });
}

/// A name without an address may be this node's own later, so it is not known yet whether this node hosts. Asks again
/// then.
void NetMembership::on_found(base::Result<r::Found> found) {
    finding_ = {};
    if (found && found->nowhere()) {
        problem_ = found->problem;
        again_timer_ = loop_.after(kAskAgain, [this] { find_coordinator(); });
        return;
    }
    finding_timer_ = {};
    if (found && !found->warning.empty()) orders_.tell(found->warning);
    if (!found) return end_before_joining(found.error().status, found.error().text);
    auto kept = std::make_shared<r::Found>(std::move(*found));
    look_up(plan_.rendezvous.master_addr, [this, kept](const std::string& address) {
        master_ = address;
        if (auto open = open_ports(*kept); !open) return end_before_joining(open.error().status, open.error().text);
        make_member(*kept);
        act();
    });
}

void NetMembership::end_before_joining(int status, std::string reason) {
    finding_timer_ = {};
    again_timer_ = {};
    finding_ = {};
    over_ = true;
    order([this, verdict = JobVerdict{status, std::move(reason)}] { orders_.end(verdict); });
}

base::Result<void> NetMembership::open_ports(r::Found& found) {
    if (auto listens = store_.listen(found.bind_to, found.other); !listens) return listens.error();
    hosts_ = guard_.hosts_coordinator();  // started by an earlier agent
    if (hosts_ && !found.places.empty()) coordinator_port_ = found.places.front().endpoint.port;
    advertised_ = found.advertised;
    name_is_loopback_ = found.name_is_loopback;
    bind_to_ = found.bind_to;
    if (!found.listener) return {};
    return host_coordinator(found);
}

base::Result<void> NetMembership::host_coordinator(r::Found& found) {
    r::CoordinatorJob job{coordinator_options(plan_, host_name_, 0), found.claim};
    job.options.epoch = found.epoch;
    job.options.succeeds = found.succeeds;
    std::vector<store::Listener> listeners;
    listeners.push_back(std::move(*found.listener));
    for (store::Listener& each : found.more_listeners) listeners.push_back(std::move(each));
    hosts_ = true;
    coordinator_port_ = listeners.front().port;
    return host_(job, std::move(listeners));
}

// --- a coordinator that may move ------------------------------------------------------------------------------------

/// The connection is lost, or has not received a Welcome yet: runs the discovery again in a moment.
void NetMembership::locate_later() {
    answered_ = false;
    if (alone_ || over_ || !discovery_->moves() || again_timer_ || finding_.busy()) return;
    again_timer_ = loop_.after(kLocateAgain, [this] {
        again_timer_ = {};
        if (!answered_ && !over_) locate_again();
    });
}

void NetMembership::locate_again() {
    if (finding_.busy() || over_) return;
    discovery_->learn(member_->epoch());
    finding_ = base::Aside(loop_, [this, discovery = discovery_]() -> std::function<void()> {
        auto found = std::make_shared<base::Result<r::Found>>(discovery->find());
        return [this, found] {
            finding_ = {};
            on_located(std::move(*found));
        };
    });
}

/// The first node that sees a dead claim takes it; the other nodes find the new one.
void NetMembership::on_located(base::Result<r::Found> found) {
    if (over_) return;
    if (found && found->listener)
        if (auto hosted = host_coordinator(*found); !hosted)
            order([this, text = hosted.error().text] { orders_.tell(text); });
    const bool is_news = found && found->places != places_ && (!answered_ || found->epoch > member_->epoch());
    if (is_news) {
        places_ = found->places;
        link_->retarget(places_);
        answered_ = false;
        change([&](base::Time now) { member_->moved(now, found->epoch); });
    }
    if (!answered_) locate_later();
}

/// A standby watches the claim, so that it need not wait for its own connection to time out.
void NetMembership::watch_claim() {
    watch_timer_ = loop_.after(r::Discovery::kLookEvery, [this] {
        if (!is_standby_ || finding_.busy()) return watch_claim();
        watching_ = base::Aside(loop_, [this, discovery = discovery_]() -> std::function<void()> {
            const bool is_vacant = discovery->is_vacant();
            return [this, is_vacant] {
                watching_ = {};
                if (over_) return;
                if (is_vacant) locate_again();
                watch_claim();
            };
        });
    });
}

}  // namespace dlaunch::agent
