/// Locates the job's coordinator: before this node joins, and again when a movable coordinator is lost.

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "agent/membership/job_membership.hpp"
#include "agent/membership/net_options.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;

namespace {

constexpr int kProgress_s = 10, kFirstProgress_s = 3;
constexpr auto kAskAgain = std::chrono::milliseconds(500);       // pause while no name resolves
constexpr auto kDecideAgain = std::chrono::milliseconds(1'000);  // whether this node hosts

}  // namespace

void JobMembership::join(Orders orders) {
    orders_ = std::move(orders);
    if (alone_) return begin_alone();
    // An agent that its guard has restarted may begin late: the coordinator beside it may have ended the job by then.
    if (const auto verdict = recorded_verdict(guard_)) return end_before_joining(verdict->status, verdict->reason);
    auto tls = tls_of(plan_.rendezvous);
    if (!tls) return end_before_joining(tls.error().status, tls.error().text);
    tls_ = std::move(*tls);
    store_.use({.job_id = plan_.rendezvous.job_id, .tls = tls_, .patience = plan_.rendezvous.node_timeout});
    discovery_ = r::make_discovery(discovery_request(plan_, host_name_, tls_));
    find_coordinator(&JobMembership::on_found);
    still_finding(0);
}

/// A job of one node: the coordinator is in memory and need not be located.
void JobMembership::begin_alone() {
    const RendezvousPlan& rendezvous = plan_.rendezvous;
    advertised_ = address_alone(rendezvous);
    store_.use({.own_user_only = rendezvous.relays_store()});
    look_up(advertised_, [this, port = rendezvous.master_port.value_or(0)](const std::string& address) {
        bind_to_ = address;
        if (auto listens = store_.listen(bind_to_, {}, port); !listens) {
            const base::Error& error = listens.error();
            const auto& named = plan_.rendezvous;
            const bool is_local = named.master_addr.empty() && !named.local_addr.empty() && port == 0;
            return end_before_joining(error.status,
                                      is_local ? error.within("--local-addr").text : cannot_serve(error.text, port));
        }
        make_member({});
        act();
    });
}

/// Calls `then` with the first address of `name`, which a background thread resolves. A numeric address, or a name that
/// does not resolve, is passed unchanged.
void JobMembership::look_up(const std::string& name, std::function<void(const std::string&)> then) {
    if (name.empty() || r::is_numeric(name)) return then(name);
    finding_ = base::Background(loop_, [this, name, then = std::move(then)]() -> std::function<void()> {
        auto found = r::addresses_of(name);
        return [this, then, address = found ? found->front() : name] {
            finding_ = {};
            then(address);
        };
    });
}

/// Runs the discovery in the background, so that the loop still receives signals.
void JobMembership::find_coordinator(OnDiscovery then) {
    finding_ = base::Background(loop_, [this, discovery = discovery_, then]() -> std::function<void()> {
        auto found = std::make_shared<base::Result<r::DiscoveryResult>>(discovery->find());
        return [this, found, then] {
            finding_ = {};
            (this->*then)(std::move(*found));
        };
    });
}

void JobMembership::still_finding(int waited_s) {
    const auto limit = plan_.rendezvous.answer_timeout;
    const std::string& place =
        plan_.rendezvous.backend == Backend::fixed_address ? plan_.rendezvous.master_addr : plan_.rendezvous.endpoint;
    const std::string what = fmt::format("looking for {}{}", place, problem_.empty() ? "" : " (" + problem_ + ")");
    if (waited_s > 0 && std::chrono::seconds(waited_s) >= limit)
        return end_before_joining(exit_status::kRendezvousTimeout,
                                  fmt::format("rendezvous timed out after {} s: still {}", waited_s, what));
    if (waited_s == kFirstProgress_s || (waited_s > 0 && waited_s % kProgress_s == 0))
        print_own(fmt::format("waiting, {}, {} s of at most {:g} s", what, waited_s,
                              std::chrono::duration<double>(limit).count()));
    finding_timer_ = loop_.after(std::chrono::seconds(1), [this, waited_s] { still_finding(waited_s + 1); });
}

/// While no name resolves it is unknown whether this node hosts the coordinator. Repeats the discovery after kAskAgain.
void JobMembership::on_found(base::Result<r::DiscoveryResult> found) {
    if (found && found->has_no_address()) {
        problem_ = found->problem;
        again_timer_ = loop_.after(kAskAgain, [this] {
            again_timer_ = {};
            find_coordinator(&JobMembership::on_found);
        });
        return;
    }
    finding_timer_ = {};
    if (found && !found->warning.empty()) print_own(found->warning);
    if (!found) return end_before_joining(found.error().status, found.error().text);
    begin_member(std::move(*found));
}

void JobMembership::begin_member(r::DiscoveryResult found) {
    auto kept = std::make_shared<r::DiscoveryResult>(std::move(found));
    look_up(plan_.rendezvous.master_addr, [this, kept](const std::string& address) {
        if (over_ || (member_ && member_->epoch() > 0)) return;
        master_ = address;
        if (auto open = open_ports(*kept); !open)
            return leave(LeaveReason::cannot_host, open.error().status, open.error().text, false);
        make_member(*kept);
        act();
    });
}

/// A dial has failed, and no coordinator has ever answered: the endpoint's name may have resolved wrongly, and may by
/// now resolve to this node.
void JobMembership::decide_again_later() {
    if (alone_ || over_ || hosts_ || !discovery_->may_host_later() || again_timer_ || finding_.busy()) return;
    again_timer_ = loop_.after(kDecideAgain, [this] {
        again_timer_ = {};
        if (!over_ && member_->epoch() == 0) find_coordinator(&JobMembership::on_decided);
    });
}

/// The link looks the names up itself: only a decision to host matters here. An error may be temporary, and is printed.
void JobMembership::on_decided(base::Result<r::DiscoveryResult> found) {
    if (over_ || member_->epoch() > 0) return;
    if (!found && found.error().text != problem_) print_own(problem_ = found.error().text);
    if (!found || !found->listener) return;
    if (!found->warning.empty()) print_own(found->warning);
    begin_member(std::move(*found));
}

void JobMembership::end_before_joining(int status, std::string reason) {
    finding_timer_ = {};
    again_timer_ = {};
    finding_ = {};
    over_ = true;
    order([this, verdict = JobVerdict{status, std::move(reason)}] { orders_.end(verdict); });
}

base::Result<void> JobMembership::open_ports(r::DiscoveryResult& found) {
    if (auto listens = store_.listen(found.bind_to, found.other); !listens)
        return plan_.rendezvous.local_addr.empty() ? listens.error() : listens.error().within("--local-addr");
    hosts_ = guard_.hosts_coordinator();  // started by an earlier agent
    if (hosts_ && !found.places.empty()) coordinator_port_ = found.places.front().endpoint.port;
    advertised_ = found.advertised;
    name_is_loopback_ = found.name_is_loopback;
    bind_to_ = found.bind_to;
    if (!found.listener) return {};
    return host_coordinator(found);
}

base::Result<void> JobMembership::host_coordinator(r::DiscoveryResult& found) {
    r::CoordinatorJob job{coordinator_options(plan_, host_name_, 0), found.claim, plan_.rendezvous.token};
    job.options.epoch = found.epoch;
    job.options.succeeds = found.succeeds;
    job.options.snapshot = found.snapshot;
    const std::string is_open = open_job_line(plan_.rendezvous, found);
    std::vector<store::Listener> listeners;
    listeners.push_back(std::move(*found.listener));
    for (store::Listener& each : found.more_listeners) listeners.push_back(std::move(each));
    const int port = listeners.front().port;
    job.options.place = place_of(plan_.rendezvous, listeners.front().endpoint);
    auto hosted = host_(job, std::move(listeners));
    if (!hosted) return hosted;
    if (!is_open.empty() && plan_.verbosity >= 0) print(is_open);
    hosts_ = true;
    coordinator_port_ = port;
    return hosted;
}

// --- a coordinator that may move ------------------------------------------------------------------------------------

/// A coordinator of this node may have ended the job while this agent was frozen, and exited. Its record holds the
/// verdict; another coordinator would run the job again.
bool JobMembership::end_if_recorded() {
    const auto verdict = recorded_verdict(guard_);
    if (verdict) change([&](base::Time) { member_->job_is_over(*verdict); });
    return verdict.has_value();
}

/// The end of a job removes its claim. After a cut in which the job may have ended, a node must not claim the job again
/// and run it from the start.
void JobMembership::locate_again() {
    if (finding_.busy() || over_ || end_if_recorded()) return;
    const auto waits = running_round_ ? r::Discovery::kMembersWait : r::Discovery::kSparesWait;
    const auto part = plan_.rendezvous.node_timeout / (running_round_ ? 20 : 40);  // leases end soon where it is short
    discovery_->learn(member_->epoch(), std::min<r::Milliseconds>(waits, part));
    if (base::Clock::now() < member_->evicted_by()) return find_coordinator(&JobMembership::on_located);
    finding_ = base::Background(loop_, [this, discovery = discovery_]() -> std::function<void()> {
        const bool is_gone = discovery->stays_gone();
        return [this, is_gone] {
            finding_ = {};
            if (over_) return;
            if (!is_gone) return find_coordinator(&JobMembership::on_located);
            change([this](base::Time) { member_->lose_coordinator(); });
        };
    });
}

/// The first node that detects the dead claim creates a new one; the other nodes find the new claim.
void JobMembership::on_located(base::Result<r::DiscoveryResult> found) {
    if (over_ || end_if_recorded()) return;
    if (found && found->listener) {
        if (auto hosted = host_coordinator(*found); !hosted)
            order([this, text = hosted.error().text] { print_own(text); });
        member_->set_standby_port(discovery_->reserve_port(bind_to_));
    }
    const bool is_news = found && found->places != places_ && (!answered_ || found->epoch > member_->epoch());
    if (is_news) {
        places_ = found->places;
        link_->retarget(places_);
        link_->set_standbys(standbys_);
        answered_ = false;
        change([&](base::Time now) { member_->moved(now, found->epoch); });
    }
    if (!answered_) locate_later();
}

}  // namespace dlaunch::agent
