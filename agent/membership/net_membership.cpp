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
std::string names_of(const std::vector<r::ResolvedEndpoint>& places) {
    std::vector<std::string> names;
    for (const r::ResolvedEndpoint& place : places)
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
                                              locate_later();
                                              change([&](base::Time now) { member_->connect_failed(now, failure); });
                                          },
                                          [this](const r::Message& message) {
                                              if (std::holds_alternative<r::Welcome>(message)) answered_ = true;
                                              change([&](base::Time now) { member_->received(now, message); });
                                          },
                                          [this](bool by_its_end) {
                                              locate_later();
                                              change([&](base::Time now) { member_->closed(now, by_its_end); });
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

// --- calls of the agent ---------------------------------------------------------------------------------------------

void NetMembership::failed(const Failure& failure) {
    own_failure_ = true;
    r::Cause cause{failure.exit_status(), kind_of(failure), summary(failure), failure.permanent, {}, {failure.rank, 1}};
    change([&](base::Time now) { member_->failed(now, cause); });
}

void NetMembership::round_over(const RoundEnd& end) {
    running_round_.reset();
    if (!end.succeeded) store_.end_round();  // after success other nodes' workers may still use it
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
    // Without its guard this agent exits. It sends Gone when no worker lives here: a Leave could end the job, and a
    // connection closed without Gone counts as a cut.
    if (status == exit_status::kSignalBase + SIGKILL) {
        dying_ = JobVerdict{status, reason};
        if (!running_round_ && !over_) die();
        return;
    }
    if (over_) return;
    if (!member_) return end_before_joining(status, reason);
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

// --- actions of the member ------------------------------------------------------------------------------------------

/// Actions may add more actions. The outermost call performs them all, in order.
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

/// Must precede all other events after a freeze: worker exits caused by the guard's fence are not failures.
void NetMembership::check_fence(base::Time now) {
    if (alone_) return;
    by_guard_ = guard_.has_fenced();
    if (by_guard_)
        member_->fenced_by_guard(now, "this agent was frozen for too long: its guard has killed the workers");
}

void NetMembership::renew_lease() {
    if (alone_) return;  // no other node can take this node's place
    const base::Time until = member_->lease_until();
    if (until == r::kNever)
        guard_.no_workers_live();
    else if (!guard_.let_workers_live_until(until))
        check_fence(base::Clock::now());
}

void NetMembership::perform(r::Member::Action& action) {
    if (std::holds_alternative<r::Member::Connect>(action)) {
        if (!alone_) guard_.drop_connection();
        if (member_->epoch() > 0) locate_later();
        link_->connect();
    } else if (std::holds_alternative<r::Member::Disconnect>(action)) {
        if (!alone_) guard_.drop_connection();
        link_->disconnect();
    } else if (auto* send = std::get_if<r::Member::SendOut>(&action)) {
        link_->send(send->message);
    } else if (auto* begin = std::get_if<r::Member::StartWorkers>(&action)) {
        start(begin->assigned);
    } else if (auto* stop = std::get_if<r::Member::StopWorkers>(&action)) {
        // The order may be carried out when its round is over and the next one runs.
        order([this, round = running_round_, reason = stop->reason, lost = stop->lost,
               is_known = own_failure_ || stop->reason == own_leave_] {
            if (!round || running_round_ != round) return;
            if (!is_known) orders_.tell(reason);
            orders_.stop(reason, lost);
        });
    } else if (std::holds_alternative<r::Member::CloseRound>(action)) {
        store_.end_round();
    } else if (auto* kill = std::get_if<r::Member::KillWorkers>(&action)) {
        order([this, round = running_round_, reason = kill->reason, done = by_guard_,
               is_known = kill->reason == own_leave_] {
            const bool runs = round && running_round_ == round;
            if ((runs || done) && !is_known) orders_.tell(reason + (done ? "" : ": killing the workers"));
            if (runs) orders_.kill(reason);
        });
    } else if (auto* tell = std::get_if<r::Member::TellUser>(&action)) {
        order([this, text = tell->text] { orders_.tell(text); });
    } else if (auto* how = std::get_if<r::Member::EndJob>(&action)) {
        end(*how);
    }
}

void NetMembership::set_timer() {
    deadline_.set(member_->deadline(), [this] { change([this](base::Time now) { member_->tick(now); }); });
}

void NetMembership::start(const r::Assigned& assigned) {
    running_round_ = assigned.stamp.round;
    own_failure_ = false;
    is_standby_ = assigned.group_rank < kStandbys;
    Assignment assignment;
    assignment.round = assigned.stamp.round;
    assignment.group_rank = assigned.group_rank;
    assignment.group_world_size = assigned.group_world_size;
    assignment.first_rank = assigned.first_rank;
    assignment.world_size = assigned.world_size;
    assignment.local_world_size = assigned.local_world_size;
    assignment.first_role_rank = assigned.first_role_rank;
    assignment.role_world_size = assigned.role_world_size;
    // Where this host's name resolves to 127.0.1.1, no store listens at that name.
    assignment.master_addr =
        name_is_loopback_ && assigned.group_rank == 0 ? advertised_ : r::in_our_scope(assigned.master_addr, bind_to_);
    assignment.master_port = assigned.master_port;
    assignment.agent_store = assigned.group_rank != 0 || serve_store(assigned);
    assignment.restart_count = assigned.restart_count;
    assignment.max_restarts = assigned.max_restarts;
    assignment.restart_reason = assigned.restart_reason;
    order([this, assignment = std::move(assignment)] { orders_.start(assignment); });
}

/// If the coordinator on this node uses the worker store's port, its server is the store, and it has emptied it.
bool NetMembership::serve_store(const r::Assigned& assigned) {
    store_.end_round();
    if (hosts_ && coordinator_port_ == assigned.master_port) return true;
    if (assigned.master_port == store_.port()) {
        store_.begin_round(!store_.other_address().empty() && assigned.master_addr == store_.other_address(),
                           alone_ ? WorkerStore::Serve::from_first_client : WorkerStore::Serve::at_once);
        return true;
    }
    const bool is_named = assigned.master_addr == plan_.rendezvous.master_addr && !master_.empty();
    const std::string& address = is_named ? master_ : assigned.master_addr;
    auto serves = store_.begin_round_at(assigned.master_addr == advertised_ ? bind_to_ : address, assigned.master_port);
    if (!serves) order([this, text = cannot_serve(serves.error().text)] { orders_.tell(text); });
    return serves.has_value();
}

void NetMembership::end(const r::Member::EndJob& how) {
    deadline_.cancel();
    over_ = true;
    JobVerdict verdict{how.status, how.reason, std::vector<Failure>{}};
    for (const std::string& record : how.records)
        if (auto failures = unpack_failures(record))
            verdict.failures->insert(verdict.failures->end(), failures->begin(), failures->end());
    if (alone_) {  // this node's own failures have all details
        verdict.failures.reset();
        if (verdict.reason == own_leave_) verdict.reason = own_reason_;
    }
    order([this, verdict = std::move(verdict)] { orders_.end(verdict); });
}

}  // namespace dlaunch::agent
