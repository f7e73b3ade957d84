#include "agent/group/net_membership.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "agent/errors/failure_record.hpp"
#include "agent/errors/report.hpp"
#include "rendezvous/base/address.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/discovery/addresses.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;
using base::Error;
using base::Result;

namespace {

constexpr int kElasticPort = 29'400, kStaticPort = 29'500;  // torchrun's
constexpr auto kFlagOn = {"1", "true", "True", "t", "yes", "y"};

std::uint64_t random_number() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = static_cast<std::uint64_t>(base::Clock::now().time_since_epoch().count());
    return number;
}

const std::string* conf(const RendezvousPlan& plan, const char* key) {
    auto found = plan.conf.find(key);
    return found == plan.conf.end() ? nullptr : &found->second;
}

/// A time of --rdzv-conf, in seconds; it was checked where it was taken.
r::Milliseconds seconds(const RendezvousPlan& plan, const char* key, double otherwise) {
    const std::string* text = conf(plan, key);
    return r::Milliseconds(static_cast<std::int64_t>((text ? std::strtod(text->c_str(), nullptr) : otherwise) * 1e3));
}

r::Milliseconds node_timeout(const RendezvousPlan& plan) {
    if (!conf(plan, "keep_alive_interval") && !conf(plan, "keep_alive_max_attempt"))
        return seconds(plan, "node_timeout", 5);
    const std::string* attempts = conf(plan, "keep_alive_max_attempt");
    return seconds(plan, "keep_alive_interval", 5) *
           std::max(1L, attempts ? std::strtol(attempts->c_str(), nullptr, 10) : 3L);
}

r::Coordinator::Options coordinator_options(const Plan& plan, const std::string& host_name) {
    const RendezvousPlan& meeting = plan.rendezvous;
    r::Coordinator::Options options;
    options.version = DLAUNCH_VERSION;
    options.job_id = meeting.job_id;
    options.host = host_name;
    options.incarnation = random_number();
    options.min_nodes = meeting.min_nodes;
    options.max_nodes = meeting.max_nodes;
    options.last_call = seconds(meeting, "last_call_timeout", 30);
    options.join_timeout = seconds(meeting, "join_timeout", 600);
    options.node_timeout = node_timeout(meeting);
    options.restarts = {plan.restarts.max_restarts, plan.restarts.first, plan.restarts.most, plan.restarts.healthy,
                        plan.restarts.crash_loop};
    options.master_addr = meeting.master_addr;
    options.master_port = meeting.master_port;
    return options;
}

/// One process a task: its number is the order that the scheduler gave.
std::string order_key() {
    const char* number = std::getenv("SLURM_PROCID");
    return number && std::getenv("SLURM_JOB_ID") ? number : "";
}

}  // namespace

struct NetMembership::Place {
    std::vector<r::Endpoint> all;
    std::string listen_on;  ///< this node hosts the coordinator, at this address; empty: another does
    int port = 0;
    std::string advertised;  ///< this node's address for the others
};

Result<NetMembership::Place> NetMembership::find_place(const RendezvousPlan& plan, const std::string& host_name) {
    Place place;
    const bool fixed = plan.backend == "static";
    if (fixed) {
        place.all = {{plan.master_addr, plan.master_port.value_or(kStaticPort)}};
    } else {
        auto endpoints = r::parse_endpoints(plan.endpoint, kElasticPort);
        if (!endpoints) return endpoints.error().within("--rdzv-endpoint");
        if (!endpoints->folder.empty())
            return Error{"--rdzv-endpoint: a shared folder is not supported, expected HOST:PORT"};
        place.all = std::move(endpoints->places);
    }
    const std::vector<std::string> own = r::own_addresses();
    const std::string reachable = base::reachable_address();
    std::string towards;
    for (const r::Endpoint& each : place.all) {
        auto resolved = r::addresses_of(each.host);
        if (!resolved) continue;  // it may be known later
        std::string mine = r::own_address_at(each, *resolved, own, host_name, reachable);
        if (!mine.empty() && place.listen_on.empty()) {
            place.listen_on = std::move(mine);
            place.port = each.port;
        }
        if (towards.empty()) towards = r::own_address_towards(resolved->front());
    }
    place.advertised = !plan.local_addr.empty()   ? plan.local_addr
                       : !place.listen_on.empty() ? place.listen_on
                       : !towards.empty()         ? towards
                                                  : reachable;
    if (fixed && plan.node_rank.value_or(0) != 0) place.listen_on.clear();
    if (const std::string* wish = conf(plan, "is_host")) {
        const bool on = std::find(kFlagOn.begin(), kFlagOn.end(), *wish) != kFlagOn.end();
        if (!on) place.listen_on.clear();
        if (on && place.listen_on.empty())
            return Error{
                fmt::format("--rdzv-conf: is_host, and {} is no address of this node", place.all.front().text())};
    }
    return place;
}

NetMembership::NetMembership(base::Loop& loop, const Plan& plan, GuardLink& guard)
    : loop_(loop), plan_(plan), guard_(guard) {}
NetMembership::~NetMembership() = default;

Result<std::unique_ptr<NetMembership>> NetMembership::make(base::Loop& loop, const Plan& plan,
                                                           const std::string& host_name, GuardLink& guard) {
    std::unique_ptr<NetMembership> self(new NetMembership(loop, plan, guard));
    auto place = find_place(plan.rendezvous, host_name);
    if (!place) return place.error();
    auto numeric = r::addresses_of(place->advertised);
    auto listener =
        store::open_listener(numeric && !numeric->empty() ? numeric->front() : base::reachable_address(), 0);
    if (!listener) return listener.error();
    self->store_listener_ = std::move(*listener);
    if (!place->listen_on.empty())
        if (auto hosted = self->host_coordinator(*place, host_name); !hosted) return hosted.error();

    auto& options = self->member_options_;
    options.version = DLAUNCH_VERSION;
    options.job_id = plan.rendezvous.job_id;
    options.record = {fmt::format("{}-{}-{:x}", host_name, getpid(), random_number()),
                      host_name,
                      place->advertised,
                      self->store_listener_.port,
                      plan.workers,
                      plan.role,
                      order_key(),
                      plan.rendezvous.node_rank,
                      self->host_ != nullptr};
    options.coordinator = place->all.front().text();
    options.join_timeout = seconds(plan.rendezvous, "join_timeout", 600);
    if (self->host_) place->all = {{place->listen_on, self->host_->server().port()}};
    self->link_ = std::make_unique<r::MemberLink>(
        loop, place->all,
        r::MemberLink::Listener{[me = self.get()] { me->change([&](base::Time now) { me->member_->connected(now); }); },
                                [me = self.get()](const r::ConnectFailure& failure) {
                                    me->change([&](base::Time now) { me->member_->connect_failed(now, failure); });
                                },
                                [me = self.get()](const r::Message& message) {
                                    me->change([&](base::Time now) { me->member_->received(now, message); });
                                },
                                [me = self.get()](bool by_its_end) {
                                    me->change([&](base::Time now) { me->member_->closed(now, by_its_end); });
                                }});
    return self;
}

/// Somebody else may listen there already: an agent on this machine that came first. Then this one is a member only.
Result<void> NetMembership::host_coordinator(const Place& place, const std::string& host_name) {
    auto host = r::CoordinatorHost::listen(loop_, place.listen_on, place.port, coordinator_options(plan_, host_name));
    if (host) host_ = std::move(*host);
    return {};
}

void NetMembership::join(Orders orders) {
    orders_ = std::move(orders);
    member_.emplace(member_options_, base::Clock::now(), random_number());
    act();
}

void NetMembership::failed(const Failure& failure) {
    own_failure_ = true;
    r::Cause cause{
        failure.exit_status(), kind_of(failure), summary(failure), failure.how == HowEnded::not_executed, {}};
    change([&](base::Time now) { member_->failed(now, cause); });
}

void NetMembership::round_over(const RoundEnd& end) {
    round_runs_ = false;
    store_.reset();
    if (dying_) return order([this] { orders_.end(*dying_); });
    std::optional<r::Cause> cause;
    std::vector<Failure> own;
    std::copy_if(end.failures.begin(), end.failures.end(), std::back_inserter(own),
                 [](const Failure& failure) { return !failure.victim; });
    if (!own.empty()) {
        const Failure first = own.front();
        cause = r::Cause{first.exit_status(), kind_of(first), summary(first), first.how == HowEnded::not_executed,
                         pack_failures(std::move(own), wire::kMaxRecord)};
    }
    change([&](base::Time now) { member_->round_over(now, end.succeeded, cause); });
}

void NetMembership::leave(int status, const std::string& reason) {
    using Scope = r::Leave::Scope;
    // Without its guard this node must not live on, and a last word could mean another's end: its connections end with
    // it, which says that it died, when no worker lives here any more.
    if (status == exit_status::kSignalBase + SIGKILL) {
        dying_ = JobVerdict{status, reason};
        if (!round_runs_) order([this] { orders_.end(*dying_); });
        return;
    }
    const Scope scope = status == exit_status::kHang            ? Scope::job
                        : status == exit_status::kNodeUnhealthy ? Scope::node
                                                                : Scope::node_if_enough;
    change([&](base::Time) { member_->leave(scope, status, reason); });
}

// --- what the member decides
// ------------------------------------------------------------------------------------------

template <class Change>
void NetMembership::change(Change change) {
    const base::Time now = base::Clock::now();
    heed_guard(now);
    change(now);
    act();
}

/// Actions may lead to more: the outermost call performs them all, in order.
void NetMembership::act() {
    if (std::exchange(acting_, true)) return;
    renew_lease();
    for (auto actions = member_->take_actions(); !actions.empty(); actions = member_->take_actions()) {
        for (r::Member::Action& action : actions) perform(action);
        renew_lease();
    }
    acting_ = false;
    set_timer();
}

/// Before anything else is heard after a frozen time: how the workers ended then is nobody's failure.
void NetMembership::heed_guard(base::Time now) {
    by_guard_ = guard_.has_fenced();
    if (by_guard_)
        member_->fenced_by_guard(now, "this agent stood still for too long: its guard has killed the workers");
}

void NetMembership::renew_lease() {
    const base::Time until = member_->lease_until();
    if (until == r::kNever)
        guard_.no_workers_live();
    else if (!guard_.let_workers_live_until(until))
        heed_guard(base::Clock::now());
}

void NetMembership::perform(r::Member::Action& action) {
    if (std::holds_alternative<r::Member::Connect>(action)) {
        link_->connect();
    } else if (std::holds_alternative<r::Member::Disconnect>(action)) {
        link_->disconnect();
    } else if (auto* send = std::get_if<r::Member::SendOut>(&action)) {
        link_->send(send->message);
    } else if (auto* begin = std::get_if<r::Member::StartWorkers>(&action)) {
        start(begin->assigned);
    } else if (auto* stop = std::get_if<r::Member::StopWorkers>(&action)) {
        order([this, reason = stop->reason, told = own_failure_] {
            if (!round_runs_) return;
            if (!told) orders_.tell(reason);
            orders_.stop(reason);
        });
    } else if (auto* kill = std::get_if<r::Member::KillWorkers>(&action)) {
        order([this, reason = kill->reason, done = by_guard_] {
            if (round_runs_ || done) orders_.tell(reason + (done ? "" : ": killing the workers"));
            if (round_runs_) orders_.kill(reason);
        });
    } else if (auto* tell = std::get_if<r::Member::TellUser>(&action)) {
        order([this, text = tell->text] { orders_.tell(text); });
    } else if (auto* how = std::get_if<r::Member::EndJob>(&action)) {
        end(*how);
    }
}

void NetMembership::set_timer() {
    const r::Time due = member_->deadline();
    if (due == timer_due_) return;
    timer_due_ = due;
    if (due == r::kNever) {
        timer_ = {};
        return;
    }
    timer_ = loop_.after(std::max(due - base::Clock::now(), base::Duration::zero()), [this] {
        timer_due_ = r::kNever;
        change([this](base::Time now) { member_->tick(now); });
    });
}

void NetMembership::start(const r::Assigned& told) {
    round_runs_ = true;
    own_failure_ = false;
    Assignment assignment;
    assignment.round = told.stamp.round;
    assignment.group_rank = told.group_rank;
    assignment.group_world_size = told.group_world_size;
    assignment.first_rank = told.first_rank;
    assignment.world_size = told.world_size;
    assignment.local_world_size = told.local_world_size;
    assignment.first_role_rank = told.first_role_rank;
    assignment.role_world_size = told.role_world_size;
    assignment.master_addr = told.master_addr;
    assignment.master_port = told.master_port;
    assignment.agent_store = told.group_rank != 0 || serve_store(told);
    assignment.restart_count = told.restart_count;
    assignment.max_restarts = told.max_restarts;
    assignment.restart_reason = told.restart_reason;
    order([this, assignment = std::move(assignment)] { orders_.start(assignment); });
}

/// An empty store for this round. Where the user named the port the coordinator may live there too: one port, one
/// server, which it has emptied.
bool NetMembership::serve_store(const r::Assigned& told) {
    store_.reset();
    if (host_ && host_->server().port() == told.master_port) return true;
    base::UniqueFd socket(fcntl(store_listener_.socket.get(), F_DUPFD_CLOEXEC, 0));
    if (told.master_port != store_listener_.port) {
        auto asked_for = store::open_listener(told.master_addr, told.master_port);
        if (!asked_for) {
            order([this, text = asked_for.error().text] { orders_.tell("the worker store: " + text); });
            return false;
        }
        socket = std::move(asked_for->socket);
    }
    auto server = store::ThreadedServer::adopt(std::move(socket));
    if (server) store_ = std::move(*server);
    return store_ != nullptr;
}

/// Who hosts the coordinator stays until everybody has heard.
void NetMembership::end(const r::Member::EndJob& how) {
    timer_ = {};
    JobVerdict verdict{how.status, how.reason, std::vector<Failure>{}};
    for (const std::string& record : how.records)
        if (auto failures = unpack_failures(record))
            verdict.failures->insert(verdict.failures->end(), failures->begin(), failures->end());
    auto tell = [this, verdict = std::move(verdict)] { orders_.end(verdict); };
    if (host_ && host_->coordinator().phase() == r::Coordinator::Phase::over)
        host_->when_finished(std::move(tell));
    else
        order(std::move(tell));
}

}  // namespace dlaunch::agent
