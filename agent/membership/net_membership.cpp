#include "agent/membership/net_membership.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "agent/errors/failure_record.hpp"
#include "agent/errors/report.hpp"
#include "agent/membership/net_options.hpp"
#include "rendezvous/base/address.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/coordinate/memory_link.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/net/link.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::agent {

namespace r = rendezvous;

namespace {

/// "node2:29400 or node1:29400"; a name with several addresses once.
std::string names_of(const std::vector<r::Place>& places) {
    std::vector<std::string> names;
    for (const r::Place& place : places)
        if (names.empty() || names.back() != place.endpoint.text()) names.push_back(place.endpoint.text());
    return fmt::format("{}", fmt::join(names, " or "));
}

constexpr int kStandbys = 3;  // members that watch the claim

}  // namespace

NetMembership::NetMembership(base::Loop& loop, const Plan& plan, std::string host_name, GuardLink& guard,
                             HostCoordinator host)
    : loop_(loop),
      plan_(plan),
      host_name_(std::move(host_name)),
      guard_(guard),
      alone_(plan.rendezvous.max_nodes == 1),
      host_(std::move(host)),
      store_(loop, [this](const std::string& text) { orders_.tell(text); }) {}
NetMembership::~NetMembership() = default;

void NetMembership::make_member(const r::Found& found) {
    r::Member::Options options;
    options.version = DLAUNCH_VERSION;
    options.job_id = plan_.rendezvous.job_id;
    options.record = {fmt::format("{}-{}-{:x}", host_name_, getpid(), base::random_number()),
                      host_name_,
                      found.advertised,
                      store_.other_address(),
                      store_.port(),
                      plan_.workers,
                      plan_.program.role,
                      plan_.program.name(),
                      plan_.rendezvous.order_key,
                      plan_.rendezvous.node_rank,
                      alone_ || (hosts_ && !discovery_->moves())};
    options.told = coordinator_options(plan_, host_name_, 0);
    places_ = found.places;
    options.coordinator = names_of(found.places);
    options.fixed_coordinator = alone_ || !discovery_->moves();
    options.join_timeout = plan_.rendezvous.answer_timeout;
    options.rejoin_timeout = plan_.rendezvous.rejoin_timeout;
    r::CoordinatorLink::Observer observer{[this] {
                                              if (link_->socket() >= 0)
                                                  guard_.keep_connection(link_->socket(), wire::encode(r::Gone{}));
                                              change([this](base::Time now) { member_->connected(now); });
                                          },
                                          [this](const r::ConnectFailure& failure) {
                                              lost_sight();
                                              change([&](base::Time now) { member_->connect_failed(now, failure); });
                                          },
                                          [this](const r::Message& message) {
                                              if (std::holds_alternative<r::Welcome>(message)) answered_ = true;
                                              change([&](base::Time now) { member_->received(now, message); });
                                          },
                                          [this](bool) {
                                              lost_sight();
                                              change([&](base::Time now) { member_->closed(now); });
                                          }};
    if (alone_) {
        auto job = coordinator_options(plan_, host_name_, base::random_number());
        job.node_timeout = r::MemoryLink::kNeverSilent;
        job.master_addr = advertised_;
        link_ = std::make_unique<r::MemoryLink>(loop_, std::move(job), std::move(observer));
    } else {
        link_ = std::make_unique<r::MemberLink>(loop_, found.places, std::move(observer));
    }
    member_.emplace(std::move(options), base::Clock::now(), base::random_number());
    if (!alone_ && discovery_->moves()) watch_claim();
}

// --- what the agent tells -------------------------------------------------------------------------------------------

void NetMembership::failed(const Failure& failure) {
    own_failure_ = true;
    r::Cause cause{failure.exit_status(), kind_of(failure), summary(failure), failure.permanent, {}, {failure.rank, 1}};
    change([&](base::Time now) { member_->failed(now, cause); });
}

void NetMembership::round_over(const RoundEnd& end) {
    round_runs_ = false;
    if (!end.succeeded) store_.end_round();  // else the other nodes' workers still need it
    if (dying_) return die();
    std::optional<r::Cause> cause;
    std::vector<Failure> own;
    std::copy_if(end.failures.begin(), end.failures.end(), std::back_inserter(own),
                 [](const Failure& failure) { return !failure.victim; });
    if (!own.empty()) {
        const Failure first = own.front();
        cause = r::Cause{first.exit_status(), kind_of(first), summary(first), first.permanent,
                         pack_failures(std::move(own), wire::kMaxRecord)};
    }
    change([&](base::Time now) { member_->round_over(now, end.succeeded, cause); });
}

void NetMembership::die() {
    if (member_) change([this](base::Time) { member_->gone(); });
    order([this] { orders_.end(*dying_); });
}

void NetMembership::leave(int status, const std::string& reason, bool workers_too) {
    using Scope = r::Leave::Scope;
    // Without its guard this node ends. It leaves with a good-bye, when no worker lives here any more: a Leave could
    // end the job, and a connection that merely closes is a cut.
    if (status == exit_status::kSignalBase + SIGKILL) {
        dying_ = JobVerdict{status, reason};
        if (!round_runs_ && !over_) die();
        return;
    }
    if (over_) return;
    if (!member_) return end_before_it_began(status, reason);
    const Scope scope = status == exit_status::kHang            ? Scope::job
                        : status == exit_status::kNodeUnhealthy ? Scope::node
                                                                : Scope::node_if_enough;
    own_reason_ = reason;
    own_leave_ = reason + " on " + host_name_;
    change([&](base::Time) { member_->leave(scope, status, reason, workers_too); });
}

void NetMembership::hurry() {
    if (member_ && !over_) change([this](base::Time) { member_->hurry(); });
}

// --- what the member decides ----------------------------------------------------------------------------------------

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
    if (alone_) return;
    by_guard_ = guard_.has_fenced();
    if (by_guard_)
        member_->fenced_by_guard(now, "this agent stood still for too long: its guard has killed the workers");
}

void NetMembership::renew_lease() {
    if (alone_) return;  // no other node starts a round because this one is silent
    const base::Time until = member_->lease_until();
    if (until == r::kNever)
        guard_.no_workers_live();
    else if (!guard_.let_workers_live_until(until))
        heed_guard(base::Clock::now());
}

void NetMembership::perform(r::Member::Action& action) {
    if (std::holds_alternative<r::Member::Connect>(action)) {
        if (!alone_) guard_.drop_connection();
        if (member_->epoch() > 0) lost_sight();
        link_->connect();
    } else if (std::holds_alternative<r::Member::Disconnect>(action)) {
        if (!alone_) guard_.drop_connection();
        link_->disconnect();
    } else if (auto* send = std::get_if<r::Member::SendOut>(&action)) {
        link_->send(send->message);
    } else if (auto* begin = std::get_if<r::Member::StartWorkers>(&action)) {
        start(begin->assigned);
    } else if (auto* stop = std::get_if<r::Member::StopWorkers>(&action)) {
        order([this, reason = stop->reason, lost = stop->lost, told = own_failure_ || stop->reason == own_leave_] {
            if (!round_runs_) return;
            if (!told) orders_.tell(reason);
            orders_.stop(reason, lost);
        });
    } else if (std::holds_alternative<r::Member::CloseRound>(action)) {
        store_.end_round();
    } else if (auto* kill = std::get_if<r::Member::KillWorkers>(&action)) {
        order([this, reason = kill->reason, done = by_guard_, told = kill->reason == own_leave_] {
            if ((round_runs_ || done) && !told) orders_.tell(reason + (done ? "" : ": killing the workers"));
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
    is_standby_ = told.group_rank < kStandbys;
    Assignment assignment;
    assignment.round = told.stamp.round;
    assignment.group_rank = told.group_rank;
    assignment.group_world_size = told.group_world_size;
    assignment.first_rank = told.first_rank;
    assignment.world_size = told.world_size;
    assignment.local_world_size = told.local_world_size;
    assignment.first_role_rank = told.first_role_rank;
    assignment.role_world_size = told.role_world_size;
    // Where our own name stands for 127.0.1.1, nobody listens at it.
    assignment.master_addr =
        name_is_loopback_ && told.group_rank == 0 ? advertised_ : r::in_our_scope(told.master_addr, bind_to_);
    assignment.master_port = told.master_port;
    assignment.agent_store = told.group_rank != 0 || serve_store(told);
    assignment.restart_count = told.restart_count;
    assignment.max_restarts = told.max_restarts;
    assignment.restart_reason = told.restart_reason;
    order([this, assignment = std::move(assignment)] { orders_.start(assignment); });
}

/// Where the user named the port the coordinator may live there too: one port, one server, which it has emptied.
bool NetMembership::serve_store(const r::Assigned& told) {
    store_.end_round();
    if (hosts_ && coordinator_port_ == told.master_port) return true;
    if (told.master_port == store_.port()) {
        store_.begin_round(!store_.other_address().empty() && told.master_addr == store_.other_address(),
                           alone_ ? WorkerStore::Serve::from_first_client : WorkerStore::Serve::at_once);
        return true;
    }
    auto serves =
        store_.begin_round_at(told.master_addr == advertised_ ? bind_to_ : told.master_addr, told.master_port);
    if (!serves) order([this, text = cannot_serve(serves.error().text)] { orders_.tell(text); });
    return serves.has_value();
}

void NetMembership::end(const r::Member::EndJob& how) {
    timer_ = {};
    over_ = true;
    JobVerdict verdict{how.status, how.reason, std::vector<Failure>{}};
    for (const std::string& record : how.records)
        if (auto failures = unpack_failures(record))
            verdict.failures->insert(verdict.failures->end(), failures->begin(), failures->end());
    if (alone_) {  // what failed here last has the details, and nobody asks where
        verdict.failures.reset();
        if (verdict.reason == own_leave_) verdict.reason = own_reason_;
    }
    order([this, verdict = std::move(verdict)] { orders_.end(verdict); });
}

}  // namespace dlaunch::agent
