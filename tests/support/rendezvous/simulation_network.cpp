/// The simulated network and what goes wrong in it.
///
/// A connection behaves as TCP does: in order, nothing lost while it stands; a cut holds everything back, and what was
/// held comes after it; a reset drops what was under way; a process that dies sends the end of its stream, if it can.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/wire/rounds.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

using std::chrono::milliseconds;

// --- connections ----------------------------------------------------------------------------------------------------

void Simulation::push(std::uint64_t number, bool up, Item item) {
    auto found = wires_.find(number);
    if (found == wires_.end()) return;
    Wire& wire = found->second;
    if (item.kind == Item::Kind::message) {
        const std::string frame = wire::encode(item.message);
        auto received = wire::decode(static_cast<std::uint8_t>(frame[0]), std::string_view(frame).substr(5));
        if (!received || *received != item.message)
            return violated("wire", fmt::format("message {} does not arrive as it was sent", item.message.index()));
        item.message = std::move(*received);
    }
    if (item.kind == Item::Kind::reset) (up ? wire.up : wire.down).clear();
    (up ? wire.up : wire.down).push_back(std::move(item));
    milliseconds& due = up ? wire.up_due : wire.down_due;
    due = std::max(due, now_ + (chance(97) ? ms(0, 3) : ms(3, 200)));
    at(due, [this, number, up] { deliver(number, up); });
}

void Simulation::deliver(std::uint64_t number, bool up) {
    auto found = wires_.find(number);
    if (found == wires_.end()) return;
    Wire& wire = found->second;
    auto& line = up ? wire.up : wire.down;
    if (line.empty()) return;
    const Agent& agent = agents_[wire.agent];
    const milliseconds held = std::max(cut_until(agent, up), up ? host_.frozen_until : agent.frozen_until);
    if (now_ < held) {
        milliseconds& due = up ? wire.up_due : wire.down_due;
        due = std::max(due, held + ms(0, 200));
        return at(due, [this, number, up] { deliver(number, up); });
    }
    const Item item = std::move(line.front());
    line.pop_front();
    up ? to_coordinator(number, wire, item) : to_agent(number, wire, item);
}

void Simulation::to_coordinator(std::uint64_t number, Wire& wire, const Item& item) {
    if (!wire.at_coordinator || !host_.coordinator || wire.coordinator != host_.number) return;
    if (item.kind == Item::Kind::message) {
        const bool adopting = host_.coordinator->phase() == Coordinator::Phase::adopting;
        host_.coordinator->received(clock(), number, item.message);
        if (adopting && host_.coordinator->phase() == Coordinator::Phase::running) ++tally_.adopted;
    } else {
        wire.at_coordinator = false;
        host_.coordinator->closed(clock(), number, item.kind == Item::Kind::end);
    }
    act_host();
    if (host_.coordinator->finished()) tick_host();
}

void Simulation::to_agent(std::uint64_t number, Wire& wire, const Item& item) {
    Agent& agent = agents_[wire.agent];
    if (!wire.at_agent || agent.wire != number || agent.dead || agent.status) return;
    if (item.kind == Item::Kind::message) {
        agent.admitted = agent.admitted || std::holds_alternative<Welcome>(item.message);
        agent.member->received(clock(agent), item.message);
    } else {
        wire.at_agent = false;
        agent.wire = 0;
        agent.member->closed(clock(agent), item.kind == Item::Kind::end);
    }
    act(wire.agent);
}

/// A process always reaches itself; a cut of the coordinator's node cuts all other nodes off.
milliseconds Simulation::cut_until(const Agent& agent, bool up) const {
    const Agent& host = agents_[host_.agent];
    if (&agent == &host) return milliseconds(0);
    return up ? std::max(agent.cut_up, host.cut_down) : std::max(agent.cut_down, host.cut_up);
}

/// The agent's side gives the connection up.
void Simulation::hang_up(std::uint64_t number, bool in_order) {
    wires_[number].at_agent = false;
    push(number, true, {in_order ? Item::Kind::end : Item::Kind::reset, {}});
}

void Simulation::dial(std::size_t at) {
    Agent& agent = agents_[at];
    if (agent.wire) hang_up(std::exchange(agent.wire, 0), false);
    const auto attempt = ++agent.dial;
    after(ms(0, 3), [this, at, attempt] {
        Agent& caller = agents_[at];
        if (caller.dial != attempt || caller.dead || caller.status || now_ < cut_until(caller, true) ||
            now_ < cut_until(caller, false))
            return;
        if (now_ < caller.frozen_until) return;
        if (!host_.coordinator) {
            caller.member->connect_failed(clock(caller), {true, "node0:29400: Connection refused"});
            return act(at);
        }
        caller.wire = ++wire_numbers_;
        wires_[caller.wire] = {at, host_.number, true, true, {}, {}, now_, now_};
        caller.member->connected(clock(caller));
        act(at);
    });
}

// --- faults ---------------------------------------------------------------------------------------------------------

void Simulation::plan_faults() {
    const auto count = chance(15) ? 0 : draw(1, 6);
    const auto span = (faults_end_ - now_).count();
    for (std::int64_t n = 0; n < count; ++n) after(ms(0, span), [this] { fault(); });
}

void Simulation::fault() {
    const auto at = static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(agents_.size()) - 1));
    Agent& agent = agents_[at];
    const auto kind = draw(0, 99);
    const bool calls_for_host = at == host_.agent;
    if (agent.dead || agent.status || !agent.member) return;
    if (kind < 12) return cut(agent, true, true, ms(200, 2'500));
    if (kind < 22) return cut(agent, true, true, ms(2'500, 12'000));
    if (kind < 28) return cut(agent, true, false, ms(200, 12'000));
    if (kind < 32) return cut(agent, false, true, ms(200, 12'000));
    if (kind < 34) {  // what was answered before comes late, and nothing more gets out
        cut(agent, false, true, ms(1'300, 1'990));
        return cut(agent, true, false, ms(4'000, 12'000));
    }
    if (kind < 44) return reset(at);
    if (kind < 52) return freeze(at, ms(100, 3'000));
    if (kind < 62) return freeze(at, ms(3'000, 12'000));
    if (kind < 76) {
        if (!calls_for_host) kill(at, chance(40));
        return;
    }
    if (kind < 82) {
        if ((calls_for_host || !fixed_) && !agents_[host_.agent].dead) kill(host_.agent, false);
        return;
    }
    if (kind < 90) {
        agents_.emplace_back();
        agents_.back().began = now_;
        ++tally_.faults["newcomer"];
        return begin_agent();
    }
    if (calls_for_host && !fixed_) return;
    ++tally_.faults["leave"];
    note(fmt::format("node{} is told to leave", at));
    agent.left = true;
    const auto life = agent.workers.life;
    notice(at, life, [this, at](Agent& leaver) {
        leaver.member->leave(chance(80)   ? Leave::Scope::node_if_enough
                             : chance(50) ? Leave::Scope::node
                                          : Leave::Scope::job,
                             143, "SIGTERM received", chance(30));
        if (chance(20)) leaver.member->hurry();
        stop_workers(at, ms(1, 300));
    });
}

void Simulation::cut(Agent& agent, bool up, bool down, milliseconds time) {
    ++tally_.faults[up && down ? "cut" : "cut_one_way"];
    note(fmt::format("{} cut for {} ms", up && down ? "both ways" : up ? "up" : "down", time.count()));
    if (up) agent.cut_up = std::max(agent.cut_up, now_ + time);
    if (down) agent.cut_down = std::max(agent.cut_down, now_ + time);
    faults_end_ = std::max(faults_end_, now_ + time);
    agent.disturbed = true;
    if (&agent == &agents_[host_.agent]) coordinator_disturbed_ = true;
}

void Simulation::reset(std::size_t at) {
    Agent& agent = agents_[at];
    if (!agent.wire) return;
    ++tally_.faults["reset"];
    note(fmt::format("node{}'s connection is reset", at));
    const auto wire = agent.wire;
    push(wire, true, {Item::Kind::reset, {}});
    push(wire, false, {Item::Kind::reset, {}});
}

void Simulation::freeze(std::size_t at, milliseconds time) {
    Agent& agent = agents_[at];
    ++tally_.faults["freeze"];
    note(fmt::format("node{} is frozen for {} ms", at, time.count()));
    agent.frozen_until = std::max(agent.frozen_until, now_ + time);
    faults_end_ = std::max(faults_end_, agent.frozen_until);
    agent.disturbed = true;
    if (at == host_.agent) {
        host_.frozen_until = agent.frozen_until;
        coordinator_disturbed_ = true;
    }
    const Time lease = agent.member->lease_until();
    if (lease == kNever) return;
    const auto until = agent.clock.when(lease);
    this->at(std::max(now_, until), [this, at, number = ++agent.frozen] {
        Agent& asleep = agents_[at];
        if (asleep.frozen != number || now_ >= asleep.frozen_until || !asleep.workers.alive) return;
        note(fmt::format("node{}'s guard kills the workers", at));
        stop_workers(at, ms(0, 20));
    });
}

void Simulation::kill(std::size_t at, bool silently) {
    Agent& agent = agents_[at];
    ++tally_.faults[silently ? "dies silently" : "killed"];
    note(fmt::format("node{} {}", at, silently ? "dies silently" : "is killed"));
    agent.dead = true;
    if (silently) {
        agent.workers.alive = false;
        agent.cut_up = agent.cut_down = milliseconds::max() / 2;
    } else {
        const milliseconds sweep = ms(0, 100);
        stop_workers(at, sweep);
        const auto wire = std::exchange(agent.wire, 0);
        const bool says_good_bye = chance(70);  // else the guard was killed with it
        if (wire)
            after(says_good_bye ? sweep : milliseconds(0), [this, wire, says_good_bye] {
                if (says_good_bye) push(wire, true, {Item::Kind::message, Gone{}});
                hang_up(wire, true);
            });
        upset_peers(agent.workers.round);
    }
    if (at != host_.agent || !host_.coordinator) return;
    coordinator_disturbed_ = coordinator_gone_ = true;
    host_.coordinator.reset();
    for (auto& [number, wire] : wires_)
        if (std::exchange(wire.at_coordinator, false))
            push(number, false, {chance(50) ? Item::Kind::end : Item::Kind::reset, {}});
    if (!fixed_) after(ms(50, 2'500), [this] { take_over(); });
}

void Simulation::take_over() {
    for (std::size_t at = 0; at < agents_.size(); ++at) {
        const Agent& agent = agents_[at];
        if (agent.dead || agent.status || !agent.member || verdict_) continue;
        ++tally_.faults["take-over"];
        faults_end_ = std::max(faults_end_, now_);
        host_.frozen_until = agent.frozen_until;
        return begin_host(at);
    }
}

}  // namespace dlaunch::rendezvous::simulation
