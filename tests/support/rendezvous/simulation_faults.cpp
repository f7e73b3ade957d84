/// The faults of a simulated job, and how many rounds each of them may cost.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

void Simulation::disturb(Milliseconds until, std::size_t rounds) {
    disturbed_until_ = std::max(disturbed_until_, until);
    allowed_rounds_ += rounds;
}

/// One coordinator after another may leave members without an answer until their leases end, and so may a frozen
/// coordinator where leases are short. A round that has just begun may not have reached all of its members.
void Simulation::disturb_coordinator() {
    const bool crowded = now_ < coordinator_disturbed_at_ + 2 * options_.node_timeout;
    if (crowded || options_.node_timeout < Milliseconds(5'000)) disturb(now_, everybody());
    if (latest() && now_ < latest()->began + Milliseconds(500)) disturb(now_, 1);
    coordinator_disturbed_at_ = now_;
}

void Simulation::plan_faults() {
    for (int kind = 0; kind < static_cast<int>(Fault::count); ++kind)
        if (chance(40)) enabled_.push_back(static_cast<Fault>(kind));
    if (enabled_.empty()) return;
    const auto count = chance(15) ? 0 : draw(1, 6);
    const auto span = (faults_end_ - now_).count();
    for (std::int64_t n = 0; n < count; ++n) after(ms(0, span), [this] { fault(); });
}

void Simulation::fault() {
    const Fault kind = enabled_[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(enabled_.size()) - 1))];
    const auto at = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(agents_.size()) - 1));
    Agent& agent = agents_[at];
    if (kind >= Fault::coordinator_crash) return fault_of_coordinator(kind);
    if (!agent.acts()) return;
    switch (kind) {
        case Fault::cut: return cut(agent.node, true, true, ms(200, 2'500));
        case Fault::long_cut: return cut(agent.node, true, true, ms(2'500, 12'000));
        case Fault::one_way_cut: {
            const bool up = chance(60);
            return cut(agent.node, up, !up, ms(200, 12'000));
        }
        case Fault::late_answers:
            cut(agent.node, false, true, ms(1'300, 1'990));
            return cut(agent.node, true, false, ms(4'000, 12'000));
        case Fault::reset: return reset(at);
        case Fault::freeze: return freeze(at, ms(100, 3'000));
        case Fault::long_freeze: return freeze(at, ms(3'000, 12'000));
        case Fault::kill: return kill(at, chance(30));
        case Fault::power_loss: return lose_power(agent.node);
        case Fault::newcomer: nodes_.emplace_back(); return newcomer(nodes_.size() - 1);
        case Fault::leave: return request_leave(at);
        case Fault::agent_crash_point: agent_crash_in_ = static_cast<int>(draw(1, 30)); return;
        default: return;
    }
}

void Simulation::fault_of_coordinator(Fault kind) {
    if (kind >= Fault::etcd_away) return fault_of_etcd(kind);
    if (current_seat() == 0) return;
    Seat& seat = seats_[current_seat()];
    const std::uint64_t number = seat.process;
    if (!number) return;
    switch (kind) {
        case Fault::coordinator_crash:
            ++tally_.faults["coordinator crash"];
            disturb_coordinator();
            return crash_process(number);
        case Fault::coordinator_stall: return stall(number, ms(500, 12'000), false);
        case Fault::coordinator_crash_point: coordinator_crash_in_ = static_cast<int>(draw(1, 30)); return;
        case Fault::host_stall: return stall(number, ms(500, 15'000), true);
        case Fault::host_loss:
            if (chance(50)) return lose_power(seat.node);
            ++tally_.faults["host loss"];
            note(fmt::format("node{}'s guard dies", seat.node));
            disturb(now_, everybody());
            verdicts_may_differ_ = true;
            close_seat(current_seat(), false);
            for (std::size_t at = 0; at < agents_.size(); ++at)
                if (agents_[at].node == seat.node && agents_[at].acts()) kill(at, true);
            return;
        case Fault::hand_over: {
            ++tally_.faults["hand over"];
            note(fmt::format("coordinator {} receives SIGTERM", number));
            Process& hosting = *process(number);
            if (now_ < hosting.frozen_until) return;
            if (fixed_) {
                if (chance(80)) return;
                ended_by_operator_ = true;
                disturb(now_, 0);
                hosting.coordinator->end_job(clock(hosting), 143, "SIGTERM received", chance(30));
            } else {
                disturb_coordinator();
                hosting.coordinator->resign(clock(hosting));
            }
            return act_process(number);
        }
        case Fault::silent_discovery: {
            ++tally_.faults["silent discovery"];
            const Milliseconds until = now_ + ms(500, 12'000);
            nodes_[seat.node].discovery_silent_until = until;
            note(fmt::format("discovery is silent to node{} for {} ms", seat.node, (until - now_).count()));
            if (!fixed_) disturb(until, everybody());
            faults_end_ = std::max(faults_end_, until);
            return;
        }
        default: return;
    }
}

void Simulation::cut(std::size_t node, bool up, bool down, Milliseconds time) {
    ++tally_.faults[up && down ? "cut" : "cut one way"];
    note(fmt::format("node{}: {} cut for {} ms", node, up && down ? "both ways" : up ? "up" : "down", time.count()));
    const Milliseconds until = now_ + time;
    if (up) nodes_[node].cut_up = std::max(nodes_[node].cut_up, until);
    if (down) nodes_[node].cut_down = std::max(nodes_[node].cut_down, until);
    faults_end_ = std::max(faults_end_, until);
    const bool hosts = current_seat() && seats_[current_seat()].node == node;
    disturb(until, hosts ? 2 * everybody() : 2);
    for (Agent& agent : agents_)
        if (agent.node == node || hosts) agent.disturbed = true;
}

void Simulation::reset(std::size_t at) {
    Agent& agent = agents_[at];
    if (!agent.wire) return;
    ++tally_.faults["reset"];
    note(fmt::format("agent{}'s connection is reset", at));
    const auto wire = agent.wire;
    const auto kind = chance(50) ? Wire::Item::Kind::reset : Wire::Item::Kind::end;  // a proxy sends either
    push(wire, true, {kind, {}});
    push(wire, false, {kind, {}});
}

/// The guard of a frozen agent kills its workers when its lease ends.
void Simulation::freeze(std::size_t at, Milliseconds time) {
    Agent& agent = agents_[at];
    ++tally_.faults["freeze"];
    note(fmt::format("agent{} is frozen for {} ms", at, time.count()));
    agent.frozen_until = std::max(agent.frozen_until, now_ + time);
    faults_end_ = std::max(faults_end_, agent.frozen_until);
    agent.disturbed = true;
    disturb(agent.frozen_until, 2);
    const Time lease = agent.member->lease_until();
    if (lease == kNever) return;
    this->at(std::max(now_, agent.clock.when(lease)), [this, at, number = ++agent.frozen] {
        const Agent& asleep = agents_[at];
        if (asleep.frozen != number || now_ >= asleep.frozen_until || !asleep.workers.alive) return;
        note(fmt::format("agent{}'s guard kills the workers", at));
        stop_workers(at, kill_time());
    });
}

/// A live guard sends Gone when no worker lives any more, and restarts the agent on the coordinator's node.
void Simulation::kill(std::size_t at, bool guard_too) {
    Agent& agent = agents_[at];
    ++tally_.faults["killed"];
    note(fmt::format("agent{} is killed{}", at, guard_too ? " with its guard" : ""));
    agent.dead = true;
    const Milliseconds sweep = ms(0, 100);
    stop_workers(at, sweep);
    upset_peers(agent.workers.round);
    const std::size_t seat = current_seat();
    const bool hosts = seat && seats_[seat].node == agent.node && seats_[seat].listening;
    const bool returns = !guard_too && hosts;
    disturb(now_ + sweep, 1);
    if (const auto wire = std::exchange(agent.wire, 0))
        after(guard_too ? Milliseconds(0) : sweep, [this, wire, guard_too, returns] {
            if (!guard_too) push(wire, true, {Wire::Item::Kind::message, Gone{returns}});
            hang_up(wire, true);
        });
    if (returns) after(sweep + ms(50, 500), [this, node = agent.node] { newcomer(node); });
    if (!guard_too || !hosts) return;
    disturb(now_, everybody());
    verdicts_may_differ_ = true;
    close_seat(seat, false);
}

void Simulation::lose_power(std::size_t node) {
    ++tally_.faults["power loss"];
    note(fmt::format("node{} loses its power", node));
    nodes_[node].lost = true;
    nodes_[node].cut_up = nodes_[node].cut_down = Milliseconds::max() / 2;
    disturb(now_, 1);
    for (Agent& agent : agents_)
        if (agent.node == node) {
            agent.dead = true;
            agent.workers.alive = false;
        }
    for (std::size_t seat = 1; seat < seats_.size(); ++seat)
        if (seats_[seat].node == node && seats_[seat].listening) {
            disturb(now_, everybody());
            verdicts_may_differ_ = true;
            close_seat(seat, true);
        }
}

/// A guard that is awake replaces a stalled coordinator when a quarter of the node time-out has passed.
void Simulation::stall(std::uint64_t number, Milliseconds time, bool guard_too) {
    Process& stalled = *process(number);
    Seat& seat = seats_[stalled.seat];
    ++tally_.faults[guard_too ? "host stall" : "coordinator stall"];
    note(fmt::format("coordinator {} is stalled for {} ms{}", number, time.count(),
                     guard_too ? ", and so is its guard" : ""));
    stalled.frozen_until = std::max(stalled.frozen_until, now_ + time);
    faults_end_ = std::max(faults_end_, stalled.frozen_until);
    const Milliseconds limit =
        std::clamp(options_.node_timeout / 4, Milliseconds(500), Milliseconds(2'000)) + ms(0, 50);
    if (guard_too) {
        seat.frozen_until = std::max(seat.frozen_until, now_ + time);
        disturb(stalled.frozen_until, 2 * everybody());
        for (Agent& agent : agents_) agent.disturbed = true;
        if (chance(50)) return;  // the process continues before its guard has checked it
    } else {
        disturb_coordinator();
    }
    at(std::max(now_ + limit, seat.frozen_until), [this, number] {
        const Process* late = process(number);
        if (!late || (now_ >= late->frozen_until && !seats_[late->seat].frozen_until.count())) return;
        note(fmt::format("its guard kills coordinator {}", number));
        const std::size_t at = late->seat;
        end_process(number, false);
        replace_process(at, ms(0, 20));
    });
}

void Simulation::newcomer(std::size_t node) {
    ++tally_.faults["newcomer"];
    disturb(now_, 1);
    begin_agent(add_agent(node));
}

void Simulation::request_leave(std::size_t at) {
    Agent& agent = agents_[at];
    ++tally_.faults["leave"];
    note(fmt::format("agent{} gets a request to leave", at));
    agent.left = true;
    disturb(std::max(now_, agent.frozen_until), 1);
    notice(at, agent.workers.life, [this, at](Agent& leaver) {
        leaver.member->leave(chance(80)   ? Leave::Scope::node_if_enough
                             : chance(50) ? Leave::Scope::node
                                          : Leave::Scope::job,
                             143, "SIGTERM received", chance(30));
        if (chance(20)) leaver.member->leave_at_once();
        stop_workers(at, ms(1, 300));
    });
}

}  // namespace dlaunch::rendezvous::simulation
