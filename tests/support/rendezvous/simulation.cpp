/// The simulated processes: agents with their workers and guards, and the coordinator's host.

#include "tests/support/rendezvous/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dlaunch::rendezvous::simulation {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBound{150'000};  // after the last fault; all agents have ended by then

}  // namespace

Simulation::Simulation(std::uint64_t seed, Machines machines) : machines_(std::move(machines)), random_(seed * 2 + 1) {
    for (int n = 0; n < 4; ++n) draw();
    const auto max = draw(1, 6);
    options_.version = "1";
    options_.job_id = "job";
    options_.max_nodes = static_cast<int>(max);
    options_.min_nodes = static_cast<int>(chance(50) ? max : draw(1, max));
    options_.last_call = chance(50) ? milliseconds(0) : ms(0, 2'000);
    options_.join_timeout = milliseconds(15'000);
    options_.restarts.max_restarts = static_cast<int>(draw(0, 3));
    options_.restarts.crash_loop = chance(50) ? 0 : 2;
    options_.restarts.most = milliseconds(400);
    options_.scale_up = chance(60) ? ScaleUp::immediate : chance(50) ? ScaleUp::on_restart : ScaleUp::never;
    fixed_ = chance(75);
    faults_end_ = now_ + ms(1'000, 15'000);

    const auto agents = std::max<std::int64_t>(1, max + draw(chance(10) ? -1 : 0, 2));
    for (std::int64_t n = 0; n < agents; ++n) {
        agents_.emplace_back();
        after(chance(70) ? ms(0, 300) : ms(0, 4'000), [this, at = static_cast<std::size_t>(n)] {
            if (at == 0) begin_host(0);
            agents_[at].began = now_;
            begin_agent();
        });
    }
    plan_faults();
}

Simulation::~Simulation() = default;

std::uint64_t Simulation::draw() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ * 2685821657736338717U;
}

std::int64_t Simulation::draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>((draw() >> 16) % static_cast<std::uint64_t>(high - low + 1));
}

void Simulation::at(milliseconds when, std::function<void()> call) { events_.push({when, ++order_, std::move(call)}); }

void Simulation::note(const std::string& text) {
    if (traced) trace_ += fmt::format("{:>8.3f}  {}\n", static_cast<double>((now_ - began_).count()) / 1e3, text);
}

void Simulation::violated(const std::string& property, const std::string& text) {
    note(property + ": " + text);
    if (violation_.empty()) violation_ = property + ": " + text;
}

std::string Simulation::run() {
    while (!events_.empty() && violation_.empty()) {
        Event event = events_.top();
        events_.pop();
        now_ = event.at;
        ++tally_.events;
        event.call();
        const bool all =
            std::all_of(agents_.begin(), agents_.end(), [](const Agent& agent) { return agent.dead || agent.status; });
        if (all) break;
        if (now_ > faults_end_ + kBound) {
            for (std::size_t at = 0; at < agents_.size(); ++at)
                if (!agents_[at].dead && !agents_[at].status)
                    violated("liveness", fmt::format("node{} has not ended", at));
        }
    }
    if (violation_.empty()) check_end();
    return violation_;
}

void Simulation::add_to(Tally& tally) const {
    for (const Agent& agent : agents_) ++tally.statuses[agent.status.value_or(-1)];
    for (const auto& [name, count] : tally_.faults) tally.faults[name] += count;
    tally.rounds += rounds_.size();
    for (const auto& [round, told] : rounds_)
        tally.restarts +=
            round == rounds_.rbegin()->first ? static_cast<std::uint64_t>(told.begin()->second.restart_count) : 0;
    tally.fences += tally_.fences;
    tally.adopted += tally_.adopted;
    tally.events += tally_.events;
}

// --- agents ---------------------------------------------------------------------------------------------------------

void Simulation::begin_agent() {
    for (std::size_t at = 0; at < agents_.size(); ++at) {
        Agent& agent = agents_[at];
        if (agent.member || agent.dead || agent.began != now_) continue;
        Member::Options options;
        options.version = options_.version;
        options.job_id = options_.job_id;
        options.record = {fmt::format("id{}", at),
                          fmt::format("node{}", at),
                          fmt::format("10.0.0.{}", at),
                          {},
                          1000 + static_cast<int>(at),
                          static_cast<int>(draw(1, 3)),
                          chance(70) ? "default" : "other",
                          {},
                          {},
                          {},
                          fixed_ && host_.agent == at};
        if (chance(10)) options.record.node_rank = static_cast<int>(draw(0, options_.max_nodes - 1));
        options.coordinator = "node0:29400";
        options.fixed_coordinator = fixed_;
        options.join_timeout = options_.join_timeout;
        agent.clock = any_clock();
        agent.member = machines_.member(options, clock(agent), draw());
        note(fmt::format("node{} begins", at));
        act(at);
    }
}

void Simulation::act(std::size_t at) {
    Agent& agent = agents_[at];
    for (Member::Action& action : agent.member->take_actions()) {
        if (std::holds_alternative<Member::Connect>(action)) {
            dial(at);
        } else if (std::holds_alternative<Member::Disconnect>(action)) {
            if (agent.wire) hang_up(std::exchange(agent.wire, 0), true);
            ++agent.dial;
        } else if (auto* send = std::get_if<Member::SendOut>(&action)) {
            if (agent.wire) push(agent.wire, true, {Item::Kind::message, std::move(send->message)});
        } else if (auto* start = std::get_if<Member::StartWorkers>(&action)) {
            start_workers(at, start->assigned);
        } else if (std::holds_alternative<Member::StopWorkers>(action)) {
            stop_workers(at, chance(90) ? ms(1, 300) : ms(300, 3'000));
        } else if (std::holds_alternative<Member::KillWorkers>(action)) {
            ++tally_.fences;
            note(fmt::format("node{} kills its workers: {}", at, std::get<Member::KillWorkers>(action).reason));
            stop_workers(at, ms(1, 20));
        } else if (auto* end = std::get_if<Member::EndJob>(&action)) {
            ended(at, *end);
        }
    }
    const Time due = agent.member->deadline();
    if (due == kNever || agent.status) return;
    const auto when = agent.clock.when(due);
    const auto number = ++agent.tick;
    this->at(std::max(now_, when) + ms(0, 5), [this, at, number] {
        if (agents_[at].tick == number) tick_agent(at);
    });
}

void Simulation::tick_agent(std::size_t at) {
    Agent& agent = agents_[at];
    if (agent.dead || agent.status) return;
    if (now_ < agent.frozen_until) {
        const auto number = agent.tick;
        return this->at(agent.frozen_until + ms(0, 3), [this, at, number] {
            if (agents_[at].tick == number) tick_agent(at);
        });
    }
    agent.member->tick(clock(agent));
    act(at);
}

void Simulation::ended(std::size_t at, const Member::EndJob& how) {
    Agent& agent = agents_[at];
    agent.status = how.status;
    note(fmt::format("node{} ends with {} {}", at, how.status, how.reason));
    if (agent.workers.alive)
        violated("left_behind",
                 fmt::format("node{} has ended, its workers of round {} live", at, agent.workers.round.second));
}

// --- workers --------------------------------------------------------------------------------------------------------

void Simulation::start_workers(std::size_t at, const Assigned& assigned) {
    Agent& agent = agents_[at];
    check_round(assigned, at);
    agent.workers = {true,
                     false,
                     false,
                     false,
                     {assigned.stamp.epoch, assigned.stamp.round},
                     assigned.group_rank,
                     agent.workers.life + 1,
                     {}};
    note(fmt::format("node{} starts round {} as {} of {}, restart {}", at, assigned.stamp.round, assigned.group_rank,
                     assigned.group_world_size, assigned.restart_count));
    const auto life = agent.workers.life;
    const bool calm = now_ > faults_end_;
    const auto plan = calm ? 0 : draw(0, 99);
    if (plan < 45) {
        after(calm ? ms(20, 1'500) : ms(20, 12'000), [this, at, life] { workers_end(at, life, true); });
    } else if (plan < 60) {
        after(ms(0, 4'000), [this, at, life] { worker_fails(at, life, false, true); });
    } else if (plan < 62) {
        after(milliseconds(0), [this, at, life] { worker_fails(at, life, true, true); });
    } else {  // until something happens, or the faults are over
        after(faults_end_ - now_ + ms(0, 1'000), [this, at, life] { workers_end(at, life, true); });
    }
}

/// Calls `what` when the agent can see it.
void Simulation::notice(std::size_t at, std::uint64_t life, std::function<void(Agent&)> what) {
    Agent& agent = agents_[at];
    if (agent.dead || agent.status || agent.workers.life != life) return;
    if (now_ < agent.frozen_until)
        return this->at(agent.frozen_until + ms(0, 3),
                        [this, at, life, what = std::move(what)] { notice(at, life, what); });
    what(agent);
    act(at);
}

void Simulation::worker_fails(std::size_t at, std::uint64_t life, bool permanent, bool own) {
    Workers& workers = agents_[at].workers;
    if (workers.life != life || !workers.alive || workers.stopping) return;
    note(fmt::format("node{}: a worker of round {} fails{}", at, workers.round.second,
                     permanent ? " for good"
                     : own     ? ""
                               : " with its peers"));
    workers.own_failure = true;
    failed_rounds_.insert(workers.round);
    workers.cause = Cause{
        permanent ? 127 : 3, fmt::format("{} exits", at), fmt::format("rank of node{} failed", at), permanent, {}};
    notice(at, life, [this, at](Agent& agent) {
        agent.member->failed(clock(agent), *agent.workers.cause);
        stop_workers(at, ms(1, 300));
    });
    if (own) upset_peers(workers.round);
}

/// Peers of the dead often die of it.
void Simulation::upset_peers(Round round) {
    for (std::size_t at = 0; at < agents_.size(); ++at) {
        const Workers& workers = agents_[at].workers;
        if (workers.alive && workers.round == round && chance(30))
            after(ms(0, 30), [this, at, life = workers.life] { worker_fails(at, life, false, false); });
    }
}

void Simulation::stop_workers(std::size_t at, milliseconds within) {
    Workers& workers = agents_[at].workers;
    if (!workers.alive) return;
    workers.stopping = true;
    after(within, [this, at, life = workers.life] { workers_end(at, life, false); });
}

void Simulation::workers_end(std::size_t at, std::uint64_t life, bool succeeded) {
    Workers& workers = agents_[at].workers;
    if (workers.life != life || !workers.alive || (succeeded && workers.stopping)) return;
    workers.alive = false;
    workers.succeeded = succeeded && !workers.own_failure;
    if (workers.succeeded) succeeded_[workers.round].insert(workers.group_rank);
    notice(at, life, [this](Agent& agent) {
        Workers& those = agent.workers;
        if (those.cause) records_[those.round].insert("record of " + those.cause->summary);
        if (those.cause) those.cause->record = "record of " + those.cause->summary;
        agent.member->round_over(clock(agent), those.succeeded, those.cause);
    });
}

// --- the coordinator's process --------------------------------------------------------------------------------------

void Simulation::begin_host(std::size_t agent) {
    host_.number = ++hosts_;
    host_.agent = agent;
    host_.clock = any_clock();
    options_.epoch = hosts_;
    options_.incarnation = draw();
    options_.succeeds = hosts_ > 1;
    options_.snapshot = hosts_ > 1 && chance(50) ? recorded_ : std::nullopt;
    host_.coordinator = machines_.coordinator(options_, clock());
    note(fmt::format("node{} hosts coordinator {}", agent, hosts_));
    act_host();
}

void Simulation::act_host() {
    if (const auto& verdict = host_.coordinator->verdict(); verdict && !verdict_) {
        verdict_ = End{{}, *verdict};
        verdict_at_ = now_;
        note(fmt::format("the job ends with {} {}", verdict->status, verdict->reason));
    }
    for (Coordinator::Action& action : host_.coordinator->take_actions()) {
        if (auto* send = std::get_if<Coordinator::Send>(&action)) {
            for (ConnectionId wire : send->to) {
                if (const auto* assigned = std::get_if<Assigned>(&send->message))
                    placed_[{assigned->stamp.epoch, assigned->stamp.round}][assigned->group_rank] = wires_[wire].agent;
                push(wire, false, {Item::Kind::message, send->message});
            }
        } else if (auto* record = std::get_if<Coordinator::Record>(&action)) {
            recorded_ = std::move(record->snapshot);
        } else {
            const auto wire = std::get<Coordinator::Close>(action).connection;
            if (wires_.contains(wire) && wires_[wire].at_coordinator) {
                wires_[wire].at_coordinator = false;
                push(wire, false, {Item::Kind::end, {}});
            }
        }
    }
    const Time due = host_.coordinator->deadline();
    if (due == kNever) return;
    const auto when = host_.clock.when(due);
    const auto number = ++host_.tick;
    at(std::max(now_, when) + ms(0, 5), [this, number, host = host_.number] {
        if (host_.number == host && host_.tick == number) tick_host();
    });
}

void Simulation::tick_host() {
    if (!host_.coordinator) return;
    if (now_ < host_.frozen_until) {
        return at(host_.frozen_until + ms(0, 3), [this, number = host_.tick, host = host_.number] {
            if (host_.number == host && host_.tick == number) tick_host();
        });
    }
    host_.coordinator->tick(clock());
    act_host();
    const Agent& mine = agents_[host_.agent];
    if (host_.coordinator && host_.coordinator->finished() && mine.status) {  // the process ends
        host_.coordinator.reset();
        coordinator_gone_ = true;
        for (auto& [number, wire] : wires_)
            if (std::exchange(wire.at_coordinator, false)) push(number, false, {Item::Kind::end, {}});
    }
}

}  // namespace dlaunch::rendezvous::simulation
