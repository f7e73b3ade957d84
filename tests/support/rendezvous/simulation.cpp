/// The schedule itself: chance, time, and the agents.

#include "tests/support/rendezvous/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/discovery/claim.hpp"

namespace dlaunch::rendezvous::simulation {
namespace {

/// Time from the last fault until all have ended: a lease, a minute of looking for a lost coordinator, and a round.
constexpr Milliseconds kBound{100'000};

}  // namespace

Simulation::Simulation(std::uint64_t seed, Machines machines) : machines_(std::move(machines)), random_(seed * 2 + 1) {
    for (int n = 0; n < 4; ++n) draw();
    const auto max = draw(1, 6);
    options_.version = "1";
    options_.job_id = "job";
    options_.max_nodes = static_cast<int>(max);
    options_.min_nodes = static_cast<int>(chance(50) ? max : draw(1, max));
    options_.last_call = chance(50) ? Milliseconds(0) : ms(0, 2'000);
    options_.join_timeout = Milliseconds(15'000);
    options_.restarts.max_restarts = static_cast<int>(draw(0, 3));
    options_.restarts.crash_loop = chance(50) ? 0 : 2;
    options_.restarts.most = Milliseconds(400);
    options_.cooldown = {Milliseconds(1'000), Milliseconds(4'000)};
    options_.scale_up = chance(60) ? ScaleUp::immediate : chance(50) ? ScaleUp::on_restart : ScaleUp::never;
    fixed_ = chance(50);
    etcd_ = !fixed_ && chance(60);
    etcd_clock_ = any_clock();
    options_.node_timeout = Milliseconds(!fixed_ ? 10'000 : chance(80) ? 5'000 : 2'000);
    failure_percent_ = chance(30) ? 0 : chance(50) ? 15 : 40;
    faults_end_ = now_ + ms(1'000, 15'000);
    failures_end_ = faults_end_ + (chance(40) ? ms(0, 25'000) : Milliseconds(0));

    const auto agents = std::max<std::int64_t>(1, max + draw(chance(10) ? -1 : 0, 2));
    nodes_.resize(static_cast<std::size_t>(agents));
    const bool stands_alone = chance(40);  // the coordinator's node has no workers
    if (stands_alone) nodes_.emplace_back();
    const std::size_t host = stands_alone ? nodes_.size() - 1 : 0;
    after(ms(0, 300), [this, host] {
        if (fixed_) {
            start_process(add_seat(host, 1, 0, false));
        } else if (etcd_) {
            begin_in_etcd(host);
        } else {
            claim_ = {.exists = true, .number = 1, .seat = seats_.size(), .renewed = now_};
            start_process(add_seat(host, epoch_of_claim(1), 1, false));
        }
    });
    for (std::int64_t n = 0; n < agents; ++n)
        after(Milliseconds(300) + (chance(70) ? ms(0, 300) : ms(0, 4'000)),
              [this, at = add_agent(static_cast<std::size_t>(n))] { begin_agent(at); });
    plan_faults();
    after(Milliseconds(500), [this] { check_progress(); });
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

void Simulation::at(Milliseconds when, std::function<void()> call) { events_.push({when, ++order_, std::move(call)}); }

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
        if (now_ > std::max(failures_end_, faults_end_) + kBound)
            for (std::size_t at = 0; at < agents_.size(); ++at)
                if (!agents_[at].dead && !agents_[at].status)
                    violated("liveness", fmt::format("agent{} has not ended", at));
    }
    tally_.longest = std::max(Milliseconds(0), now_ - std::max(failures_end_, faults_end_));
    if (violation_.empty()) check_end();
    return violation_;
}

void Simulation::add_to(Tally& tally) const {
    for (const Agent& agent : agents_) ++tally.statuses[agent.status.value_or(-1)];
    for (const auto& [name, count] : tally_.faults) tally.faults[name] += count;
    tally.rounds += rounds_.size();
    if (!order_of_rounds_.empty()) tally.restarts += static_cast<std::uint64_t>(last_round()->restart_count);
    tally.fences += tally_.fences;
    tally.adopted += tally_.adopted;
    tally.events += tally_.events;
    tally.coordinators += process_numbers_;
    tally.quiet_failures += tally_.quiet_failures;
    tally.longest = std::max(tally.longest, tally_.longest);
}

// --- agents ---------------------------------------------------------------------------------------------------------

std::size_t Simulation::add_agent(std::size_t node) {
    agents_.emplace_back();
    agents_.back().node = node;
    return agents_.size() - 1;
}

/// Where the place is fixed an agent knows it; else it looks for a claim first.
void Simulation::begin_agent(std::size_t at) {
    Agent& agent = agents_[at];
    if (nodes_[agent.node].lost) agent.dead = true;
    if (agent.dead) return;
    agent.clock = any_clock();
    const bool is_elastic = options_.min_nodes < options_.max_nodes;
    if (is_elastic || !order_of_rounds_.empty()) disturb(now_, 1);
    if (fixed_) {
        agent.seat = 1;
        return make_member(at);
    }
    locate(at);
}

void Simulation::make_member(std::size_t at) {
    Agent& agent = agents_[at];
    Member::Options options;
    options.version = options_.version;
    options.job_id = options_.job_id;
    options.record.id = fmt::format("id{}", at);
    options.record.host = fmt::format("node{}", agent.node);
    options.record.address = fmt::format("10.0.0.{}", agent.node);
    options.record.store_port = 1000 + static_cast<int>(at);
    options.record.standby_port = fixed_ ? 0 : bind_port(agent);
    const auto role = [this] { return chance(70) ? "default" : "other"; };
    agent.blocks.clear();
    const auto contexts = static_cast<std::int32_t>(draw(0, 3));
    for (std::int32_t appnum = 0; appnum < contexts; ++appnum)
        if (chance(60)) agent.blocks.push_back({appnum, static_cast<int>(draw(1, 3)), role()});
    if (agent.blocks.empty()) agent.blocks.push_back({0, static_cast<int>(draw(1, 3)), role()});
    options.record.blocks = agent.blocks;
    options.record.hosts_coordinator = fixed_ && seats_.size() > 1 && seats_[1].node == agent.node;
    if (chance(10)) options.record.node_rank = static_cast<int>(draw(0, options_.max_nodes - 1));
    options.coordinator = "node0:29400";
    options.fixed_coordinator = fixed_;
    options.join_timeout = options_.join_timeout;
    agent.member = machines_.member(options, clock(agent), draw());
    note(fmt::format("agent{} begins on node{}", at, agent.node));
    act(at);
    if (!fixed_) after(ms(200, 500), [this, at] { look(at); });
}

void Simulation::act(std::size_t at) {
    Agent& agent = agents_[at];
    for (Member::Action& action : agent.member->take_actions()) {
        if (agent.dead) return;
        if (machines_.member_acts && !machines_.member_acts(action)) continue;
        if (std::holds_alternative<Member::Connect>(action)) {
            dial(at);
        } else if (std::holds_alternative<Member::Disconnect>(action)) {
            if (agent.wire) hang_up(std::exchange(agent.wire, 0), true);
            try_another(agent);
            ++agent.dial;
            agent.answered = false;
        } else if (auto* send = std::get_if<Member::SendOut>(&action)) {
            if (agent.wire) push(agent.wire, true, {Wire::Item::Kind::message, std::move(send->message)});
        } else if (auto* start = std::get_if<Member::StartWorkers>(&action)) {
            start_workers(at, start->assigned);
        } else if (std::holds_alternative<Member::StopWorkers>(action)) {
            stop_workers(at, chance(90) ? ms(1, 300) : ms(300, 3'000));
        } else if (const auto* kill = std::get_if<Member::KillWorkers>(&action)) {
            ++tally_.fences;
            note(fmt::format("agent{} kills its workers: {}", at, kill->reason));
            stop_workers(at, kill_time());
        } else if (const auto* line = std::get_if<Member::PrintLine>(&action)) {
            note(fmt::format("agent{} prints: {}", at, line->text));
        } else if (const auto* named = std::get_if<Member::NameStandbys>(&action)) {
            name_standbys(at, *named);
        } else if (auto* end = std::get_if<Member::EndJob>(&action)) {
            ended(at, *end);
        }
        if (agent_crash_in_ > 0 && --agent_crash_in_ == 0 && !agent.status) {
            note("between two actions:");
            kill(at, chance(30));
            return;
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
    if (!agent.acts()) return;
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
    note(fmt::format("agent{} ends with {} {}", at, how.status, how.reason));
    if (agent.workers.alive)
        violated("left_behind",
                 fmt::format("agent{} has ended, its workers of round {} live", at, agent.workers.round.second));
}

}  // namespace dlaunch::rendezvous::simulation
