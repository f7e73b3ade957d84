/// The simulated workers: how long they run, how they end, and when their agent sees that.

#include <fmt/format.h>

#include <utility>

#include "rendezvous/rounds/lease.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

void Simulation::start_workers(std::size_t at, const Assigned& assigned) {
    Agent& agent = agents_[at];
    check_round(assigned, at);
    agent.workers = {};
    agent.workers.alive = true;
    agent.workers.round = {assigned.stamp.epoch, assigned.stamp.round};
    agent.workers.group_rank = assigned.group_rank;
    agent.workers.life = ++order_;
    note(fmt::format("agent{} starts round {} as {} of {}, restart {}", at, assigned.stamp.round, assigned.group_rank,
                     assigned.group_world_size, assigned.restart_count));
    const auto life = agent.workers.life;
    if (now_ > failures_end_) return after(ms(20, 1'500), [this, at, life] { workers_end(at, life, true); });
    const auto plan = draw(0, 99);
    if (plan < failure_percent_) {
        after(ms(0, 4'000), [this, at, life] { worker_fails(at, life, chance(10), true); });
    } else if (plan < failure_percent_ + 40) {
        after(ms(20, 12'000), [this, at, life] { workers_end(at, life, true); });
    } else {  // until something happens, or the faults are over
        after(failures_end_ - now_ + ms(0, 1'000), [this, at, life] { workers_end(at, life, true); });
    }
}

/// A fenced worker takes up to `slowest_kill_percent` of the fence margin to die.
Milliseconds Simulation::kill_time() {
    const auto margin = fence_margin(options_.node_timeout).count();
    return chance(70) ? ms(1, 20) : ms(1, margin * machines_.slowest_kill_percent / 100);
}

/// Calls `what` as soon as the agent runs.
void Simulation::notice(std::size_t at, std::uint64_t life, std::function<void(Agent&)> what) {
    Agent& agent = agents_[at];
    if (!agent.acts() || agent.workers.life != life) return;
    if (now_ < agent.frozen_until)
        return this->at(agent.frozen_until + ms(0, 3),
                        [this, at, life, what = std::move(what)] { notice(at, life, what); });
    what(agent);
    act(at);
}

void Simulation::worker_fails(std::size_t at, std::uint64_t life, bool permanent, bool own) {
    SimulatedWorkers& workers = agents_[at].workers;
    if (workers.life != life || !workers.alive || workers.stopping) return;
    const int status = permanent ? 127 : own ? 3 : 4;
    note(fmt::format("agent{}: a worker of round {} fails with {}{}", at, workers.round.second, status,
                     own ? "" : " as its peers do"));
    workers.own_failure = true;
    rounds_[workers.round].failed = true;
    workers.cause =
        Cause{status, fmt::format("exit {}", status), fmt::format("agent{}'s life {} failed", at, life), permanent, {}};
    notice(at, life, [this, at](Agent& agent) {
        agent.member->failed(clock(agent), *agent.workers.cause);
        stop_workers(at, ms(1, 300));
    });
    if (own) upset_peers(workers.round);
}

/// Peers of a failed worker often fail because of the loss.
void Simulation::upset_peers(Round round) {
    for (std::size_t at = 0; at < agents_.size(); ++at) {
        const SimulatedWorkers& workers = agents_[at].workers;
        if (workers.alive && workers.round == round && chance(30))
            after(ms(0, 30), [this, at, life = workers.life] { worker_fails(at, life, false, false); });
    }
}

void Simulation::stop_workers(std::size_t at, Milliseconds within) {
    SimulatedWorkers& workers = agents_[at].workers;
    if (!workers.alive) return;
    workers.stopping = true;
    after(within, [this, at, life = workers.life] { workers_end(at, life, false); });
}

void Simulation::workers_end(std::size_t at, std::uint64_t life, bool succeeded) {
    SimulatedWorkers& workers = agents_[at].workers;
    if (workers.life != life || !workers.alive || (succeeded && workers.stopping)) return;
    workers.alive = false;
    workers.succeeded = succeeded && !workers.own_failure;
    if (workers.succeeded) rounds_[workers.round].succeeded.insert(workers.group_rank);
    note(fmt::format("agent{}: no worker of round {} lives{}", at, workers.round.second,
                     workers.succeeded ? ", all succeeded" : ""));
    notice(at, life, [this](Agent& agent) {
        SimulatedWorkers& those = agent.workers;
        if (those.cause) those.cause->record = "record of " + those.cause->summary;
        if (those.cause) rounds_[those.round].records.insert(those.cause->record);
        agent.member->round_over(clock(agent), those.succeeded, those.cause);
    });
}

}  // namespace dlaunch::rendezvous::simulation
