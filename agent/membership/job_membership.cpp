#include "agent/membership/job_membership.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "agent/errors/failure_record.hpp"
#include "agent/errors/first_cause.hpp"
#include "agent/errors/report.hpp"
#include "agent/membership/cause.hpp"
#include "agent/membership/goodbye.hpp"
#include "agent/membership/net_options.hpp"
#include "agent/membership/recorded_result.hpp"
#include "agent/process/front_notice.hpp"
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

r::Leave::Scope scope_of(LeaveReason why) {
    switch (why) {
        case LeaveReason::signal:
        case LeaveReason::cannot_host: return r::Leave::Scope::node_if_enough;
        case LeaveReason::time_limit: return r::Leave::Scope::job;
        case LeaveReason::unfit_node:
        case LeaveReason::guard_is_dead: return r::Leave::Scope::node;
    }
    return r::Leave::Scope::node_if_enough;
}

bool explains_itself(const Failure& failure) { return failure.strength < Strength::named; }

std::vector<std::string> lost_hosts_of(const std::vector<Failure>& failures) {
    std::vector<std::string> hosts;
    for (const Failure& failure : failures)
        for (const std::string& host : failure.lost_hosts)
            if (hosts.size() < r::Cause::kMostLostHosts && std::ranges::find(hosts, host) == hosts.end())
                hosts.push_back(host);
    return hosts;
}

constexpr std::chrono::milliseconds kQuickStop{500};

}  // namespace

JobMembership::JobMembership(base::Loop& loop, const Plan& plan, std::string host_name, GuardLink& guard,
                             WorkerStore& store, HostCoordinator host)
    : loop_(loop),
      plan_(plan),
      host_name_(std::move(host_name)),
      guard_(guard),
      alone_(plan.rendezvous.max_nodes == 1 && !plan.has_front_end),
      host_(std::move(host)),
      store_(store) {}
JobMembership::~JobMembership() = default;

void JobMembership::make_member(const r::DiscoveryResult& found) {
    if (jax_port_.port() == 0) jax_port_.renew();
    r::Member::Options options;
    options.version = DLAUNCH_VERSION;
    options.job_id = plan_.rendezvous.job_id;
    options.record = {.id = fmt::format("{}-{}-{:x}", host_name_, getpid(), base::random_number()),
                      .host = host_name_,
                      .address = found.advertised,
                      .other_address = store_.other_address(),
                      .store_port = store_.port(),
                      .blocks = worker_blocks(plan_),
                      .program = plan_.contexts.front().program.name(),
                      .order_key = plan_.rendezvous.order_key,
                      .node_rank = plan_.rendezvous.node_rank,
                      .hosts_coordinator = alone_ || (hosts_ && !discovery_->moves()),
                      .jax_port = jax_port_.port(),
                      .standby_port = alone_ ? 0 : discovery_->reserve_port(bind_to_)};
    options.own_config = coordinator_options(plan_, host_name_, 0);
    places_ = found.places;
    options.coordinator = names_of(found.places);
    options.port_owner = found.port_owner;
    options.fixed_coordinator = alone_ || !discovery_->moves();
    options.join_timeout = plan_.rendezvous.answer_timeout;
    options.rejoin_timeout = plan_.rendezvous.rejoin_timeout;
    if (link_)  // decided again
        link_->retarget(places_);
    else
        make_link();
    member_.emplace(std::move(options), base::Clock::now(), base::random_number());
    if (!alone_ && discovery_->moves()) watch_claim();
}

void JobMembership::make_link() {
    r::CoordinatorLink::Observer observer{
        .connected =
            [this] {
                const Goodbye goodbye = make_goodbye(tls_ != nullptr);
                if (link_->socket() >= 0) guard_.keep_connection(link_->socket(), goodbye.gone, goodbye.returns);
                change([&](base::Time now) { member_->connected(now, goodbye.hashes); });
            },
        .failed =
            [this](const r::ConnectFailure& failure) {
                if (end_if_recorded()) return;
                locate_later();
                change([&](base::Time now) { member_->connect_failed(now, failure); });
            },
        .received =
            [this](const r::Message& message) {
                if (std::holds_alternative<r::Welcome>(message) && !std::exchange(answered_, true))
                    tell_front_end(plan_.front_notices, {.kind = FrontNotice::Kind::joined});
                change([&](base::Time now) { member_->received(now, message); });
            },
        .closed =
            [this](bool by_fin) {
                if (end_if_recorded()) return;
                locate_later();
                change([&](base::Time now) { member_->closed(now, by_fin); });
            }};
    if (!alone_) {
        link_ = std::make_unique<r::MemberLink>(loop_, places_, std::move(observer), tls_);
        return;
    }
    auto job = coordinator_options(plan_, host_name_, base::random_number());
    job.node_timeout = r::MemoryLink::kNeverSilent;
    job.master_addr = advertised_;
    link_ = std::make_unique<r::MemoryLink>(loop_, std::move(job), std::move(observer));
}

// --- calls of the agent ---------------------------------------------------------------------------------------------

void JobMembership::failed(const Failure& failure, Strength strength) {
    own_failure_ = true;
    r::Cause cause = cause_of(failure, strength, failure.exit_status(), plan_.has_front_end);
    cause.lost = {{failure.rank, 1}};
    change([&](base::Time now) { member_->failed(now, cause); });
}

void JobMembership::round_over(const RoundResult& end) {
    running_round_.reset();
    if (!end.succeeded) store_.end_round();  // after success other nodes' workers may still use the store
    if (dying_) return die();
    if (!alone_ || !end.succeeded) {  // else no round follows
        store_.renew();
        jax_port_.renew();
        member_->set_ports(store_.port(), jax_port_.port());
    }
    if (end.succeeded && !alone_) return succeeded(end);
    std::optional<r::Cause> cause;
    std::vector<Failure> own = end.failures;
    const bool has_failed = std::any_of(own.begin(), own.end(), [](const Failure& each) { return !each.collateral; });
    const bool is_clear = std::any_of(own.begin(), own.end(), explains_itself);
    // Collateral exits are evidence only where a lost peer alone explains the stop. Exits with a last line stay: after
    // a hang they show where the job stood.
    if (is_clear || !(has_failed || unclear_))
        std::erase_if(own, [](const Failure& failure) { return failure.collateral && failure.last_line.empty(); });
    for (Failure& failure : own) failure.program = plan_.program_names();
    if (!own.empty()) {
        const Strength strength = put_first_cause_first(own);
        cause = cause_of(own.front(), strength, exit_status_of(own), plan_.has_front_end);
        if (strength > Strength::named) cause->lost_hosts = lost_hosts_of(own);
        std::erase_if(own, is_of_another_node);  // that node reports it
        cause->record = pack_failures(std::move(own), wire::kMaxRecord);
    }
    change([&](base::Time now) { member_->round_over(now, end.succeeded, cause, end.outcomes); });
}

/// The peers of other nodes may still need this node's ranks, and fail because they have exited.
void JobMembership::succeeded(const RoundResult& end) {
    std::optional<r::Cause> exit;
    if (const auto last = std::ranges::max_element(end.failures, {}, &Failure::after); last != end.failures.end()) {
        exit = cause_of(*last, Strength::early_exit, 0, plan_.has_front_end);
        Failure packed = *last;
        packed.program = plan_.program_names();
        exit->record = pack_failures({packed}, wire::kMaxRecord);
    }
    change([&](base::Time now) { member_->round_over(now, true, exit, end.outcomes); });
}

void JobMembership::die() {
    if (member_) change([this](base::Time) { member_->gone(); });
    order([this] { orders_.end(*dying_); });
}

void JobMembership::leave(LeaveReason why, int status, const std::string& text, bool workers_too) {
    // Without its guard this agent exits. It sends Gone when no worker lives here: a Leave could end the job, and a
    // connection closed without Gone counts as a cut.
    if (why == LeaveReason::guard_is_dead) {
        dying_ = JobVerdict{status, text};
        if (!running_round_ && !over_) die();
        return;
    }
    if (over_) return;
    if (!member_) return end_before_joining(status, text);
    own_reason_ = text;
    own_leave_ = text + " on " + host_name_;
    change([&](base::Time) { member_->leave(scope_of(why), status, text, workers_too); });
}

void JobMembership::leave_at_once() {
    if (member_ && !over_) change([this](base::Time) { member_->leave_at_once(); });
}

// --- actions of the member ------------------------------------------------------------------------------------------

/// Actions may add more actions. The outermost call performs them all, in order.
void JobMembership::act() {
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
void JobMembership::check_fence(base::Time now) {
    if (alone_) return;
    by_guard_ = guard_.has_fenced();
    if (by_guard_)
        member_->fenced_by_guard(now, "this agent was frozen for too long: its guard has killed the workers");
}

void JobMembership::renew_lease() {
    if (alone_) return;  // no other node can run this node's ranks
    const base::Time until = member_->lease_until();
    if (until == r::kNever)
        guard_.no_workers_live();
    else if (!guard_.let_workers_live_until(until, plan_.rendezvous.rejoin_timeout))
        check_fence(base::Clock::now());
}

void JobMembership::perform(r::Member::Action& action) {
    if (std::holds_alternative<r::Member::Connect>(action)) {
        if (!alone_) guard_.drop_connection();
        if (member_->epoch() > 0)
            locate_later();
        else if (std::exchange(dialed_, true))
            decide_again_later();
        link_->connect();
    } else if (std::holds_alternative<r::Member::Disconnect>(action)) {
        if (!alone_) guard_.drop_connection();
        link_->disconnect();
    } else if (auto* send = std::get_if<r::Member::SendOut>(&action)) {
        link_->send(send->message);
    } else if (auto* begin = std::get_if<r::Member::StartWorkers>(&action)) {
        start(begin->assigned);
    } else if (auto* stop = std::get_if<r::Member::StopWorkers>(&action)) {
        // When the queued order is carried out, its round may be over and the next one running.
        unclear_ = stop->unclear;
        order([this, round = running_round_, given = *stop] {
            if (!round || running_round_ != round) return;
            if (!given.for_failure && is_first_left(given.lost)) speak(true);
            give_reason(given);
            if (given.timed_out && orders_.time_out) return orders_.time_out(given.reason);
            explain(given);
            orders_.stop(given.reason, given.lost, given.signal);
        });
    } else if (std::holds_alternative<r::Member::CloseRound>(action)) {
        store_.end_round();
    } else if (auto* kill = std::get_if<r::Member::KillWorkers>(&action)) {
        order([this, round = running_round_, reason = kill->reason, done = by_guard_,
               is_known = kill->reason == own_leave_ || front_end_prints(kill->signal)] {
            const bool runs = round && running_round_ == round;
            const bool is_told =
                runs && std::exchange(told_kill_, round) == round;  // of the nodes that leave, the first
            if ((runs || done) && !is_known && !is_told) print(reason + (done ? "" : ": killing the workers"));
            if (runs) orders_.kill(reason);
        });
    } else if (auto* line = std::get_if<r::Member::PrintLine>(&action)) {
        const bool is_told = line->cause == printed_reason_ && !own_failure_;
        if (!line->cause.empty()) reason_timer_ = {};
        order([this, text = line->about_node ? plan_.with_host(line->text) : line->text,
               is_about_job = !line->about_node, cause = is_told ? "" : line->cause, message = line->message] {
            if (is_about_job) speak(true);
            orders_.print(text, cause, message);
        });
    } else if (auto* named = std::get_if<r::Member::NameStandbys>(&action)) {
        name_standbys(*named);
    } else if (auto* how = std::get_if<r::Member::EndJob>(&action)) {
        end(*how);
    }
}

void JobMembership::speak(bool on) {
    if (plan_.has_front_end && orders_.speak) orders_.speak(on);
}

/// All nodes of lower ranks are lost. Not for a failure: then only its rank is lost.
bool JobMembership::is_first_left(const r::LostRanks& lost) const {
    std::int32_t below = 0;
    for (const auto& [first, count] : lost) below += std::clamp(first_rank_ - first, 0, count);
    return below == first_rank_;
}

void JobMembership::explain(const r::Member::StopWorkers& stop) const {
    if (!orders_.explain_stop) return;
    if (stop.hung) return orders_.explain_stop(StopFor::hang);
    if (stop.for_failure || stop.signal != 0) return;
    orders_.explain_stop(stop.lost.empty() ? StopFor::change : StopFor::lost_node);
}

/// The first reported failure need not be the first cause, which the report or the line about the restart names. Only a
/// stop that takes longer needs a line of its own.
void JobMembership::give_reason(const r::Member::StopWorkers& stop) {
    if (own_failure_ || stop.reason == own_leave_ || stop.reason == printed_reason_) return;
    if (front_end_prints(stop.signal)) return;
    if (!stop.for_failure) return print(printed_reason_ = stop.reason);
    if (stop.unclear || reason_timer_) return;
    reason_timer_ = loop_.after(kQuickStop, [this, reason = stop.reason] { print(printed_reason_ = reason); });
}

void JobMembership::set_timer() {
    deadline_.set(member_->deadline(), [this] { change([this](base::Time now) { member_->tick(now); }); });
}

void JobMembership::start(const r::Assigned& assigned) {
    running_round_ = assigned.stamp.round;
    own_failure_ = unclear_ = false;
    first_rank_ = assigned.ranks.rank(0);
    printed_reason_.clear();
    reason_timer_ = {};
    Assignment assignment;
    assignment.round = assigned.stamp.round;
    assignment.group_rank = assigned.group_rank;
    assignment.group_world_size = assigned.group_world_size;
    assignment.world_size = assigned.world_size;
    assignment.ranks = assigned.ranks;
    // If this host's name resolves to 127.0.1.1, no store listens at that name.
    assignment.master_addr =
        name_is_loopback_ && assigned.group_rank == 0 ? advertised_ : r::in_our_scope(assigned.master_addr, bind_to_);
    assignment.master_port = assigned.master_port;
    assignment.relayed = assigned.relayed && !alone_;
    if (assignment.relayed) assignment.relay_port = store_.open_relay();
    assignment.jax_addr =
        assigned.jax_addr.empty() ? assignment.master_addr : r::in_our_scope(assigned.jax_addr, bind_to_);
    assignment.jax_port = assigned.jax_port;
    assignment.store = store_duty(assigned);
    assignment.restart_count = assigned.restart_count;
    assignment.max_restarts = assigned.max_restarts;
    assignment.restart_reason = assigned.restart_reason;
    order([this, assignment = std::move(assignment)] {
        speak(assignment.group_rank == 0);
        orders_.start(assignment);
    });
}

/// If this node's coordinator has the worker store's port, the coordinator's server is the store.
StoreDuty JobMembership::store_duty(const r::Assigned& assigned) const {
    using Kind = StoreDuty::Kind;
    if (assigned.group_rank != 0 || (hosts_ && coordinator_port_ == assigned.master_port)) return {};
    if (assigned.master_port == store_.port()) {
        const bool at_other = !store_.other_address().empty() && assigned.master_addr == store_.other_address();
        return {.kind = at_other ? Kind::other_address : Kind::own_port};
    }
    const bool is_named = assigned.master_addr == plan_.rendezvous.master_addr && !master_.empty();
    if (assigned.master_addr == advertised_) return {.kind = Kind::named, .address = bind_to_};
    return {.kind = Kind::named, .address = is_named ? master_ : assigned.master_addr};
}

void JobMembership::end(const r::Member::EndJob& how) {
    deadline_.cancel();
    reason_timer_ = {};
    over_ = true;
    JobVerdict verdict{how.status, how.reason,
                       failures_of({how.status, how.reason, how.records, how.outcomes, how.named_rank}), how.outcomes};
    if (alone_) {  // this node's own failures have all details
        verdict.failures.reset();
        if (verdict.reason == own_leave_) verdict.reason = own_reason_;
    }
    order([this, verdict = std::move(verdict)] { orders_.end(verdict); });
}

}  // namespace dlaunch::agent
