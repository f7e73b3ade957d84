/// The simulated network.
///
/// A connection behaves as TCP does: in order, nothing lost while it stands. A cut delays all bytes until its end. A
/// reset drops all bytes under way. A process that dies sends the end of its stream, if it can.
/// A guard's listening socket accepts while no process serves it: the next process finds the connection in the backlog.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/wire/rounds.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

void Simulation::push(std::uint64_t number, bool up, Wire::Item item) {
    auto found = wires_.find(number);
    if (found == wires_.end()) return;
    Wire& wire = found->second;
    if (item.kind == Wire::Item::Kind::message) {
        const std::string frame = wire::encode(item.message);
        auto received = wire::decode(static_cast<std::uint8_t>(frame[0]), std::string_view(frame).substr(5));
        if (!received || *received != item.message)
            return violated("wire", fmt::format("message {} does not arrive as it was sent", item.message.index()));
        item.message = std::move(*received);
    }
    if (item.kind == Wire::Item::Kind::reset) (up ? wire.up : wire.down).clear();
    (up ? wire.up : wire.down).push_back(std::move(item));
    Milliseconds& due = up ? wire.up_due : wire.down_due;
    due = std::max(due, now_ + (chance(97) ? ms(0, 3) : ms(3, 200)));
    at(due, [this, number, up] { deliver(number, up); });
}

/// A process has accepted the connection, and reads the bytes that wait in it.
void Simulation::bind(std::uint64_t number, std::uint64_t process) {
    Wire& wire = wires_[number];
    wire.process = process;
    for (std::size_t n = 0; n < wire.up.size(); ++n) after(ms(0, 3), [this, number] { deliver(number, true); });
}

void Simulation::deliver(std::uint64_t number, bool up) {
    auto found = wires_.find(number);
    if (found == wires_.end()) return;
    Wire& wire = found->second;
    auto& line = up ? wire.up : wire.down;
    if (line.empty()) return;
    if (up && wire.process == 0 && wire.at_coordinator) return;
    const Process* serving = process(wire.process);
    const Milliseconds frozen =
        up ? (serving ? serving->frozen_until : Milliseconds(0)) : agents_[wire.agent].frozen_until;
    const Milliseconds held = std::max(cut_until(wire, up), frozen);
    if (now_ < held) {
        Milliseconds& due = up ? wire.up_due : wire.down_due;
        due = std::max(due, held + ms(0, 200));
        return at(due, [this, number, up] { deliver(number, up); });
    }
    const Wire::Item item = std::move(line.front());
    line.pop_front();
    up ? to_coordinator(number, wire, item) : to_agent(number, wire, item);
}

void Simulation::to_coordinator(std::uint64_t number, Wire& wire, const Wire::Item& item) {
    Process* serving = process(wire.process);
    if (!wire.at_coordinator || !serving) return;
    Coordinator& coordinator = *serving->coordinator;
    const std::uint64_t acting = wire.process;
    if (item.kind == Wire::Item::Kind::message) {
        if (const auto* join = std::get_if<Join>(&item.message)) note_join(acting, wire.agent, *join);
        if (const auto* report = std::get_if<Report>(&item.message)) note_report(acting, wire.agent, *report);
        const bool adopting = coordinator.phase() == Coordinator::Phase::adopting;
        coordinator.received(clock(*serving), number, item.message);
        if (adopting && coordinator.phase() == Coordinator::Phase::running) ++tally_.adopted;
    } else {
        wire.at_coordinator = false;
        if (machines_.cut_is_death) coordinator.received(clock(*serving), number, Gone{});
        coordinator.closed(clock(*serving), number, item.kind == Wire::Item::Kind::end);
    }
    act_process(acting);
}

void Simulation::to_agent(std::uint64_t number, Wire& wire, const Wire::Item& item) {
    Agent& agent = agents_[wire.agent];
    if (!wire.at_agent || agent.wire != number || !agent.acts()) return;
    if (item.kind == Wire::Item::Kind::message) {
        agent.got_message = true;
        if (std::holds_alternative<Welcome>(item.message)) agent.admitted = agent.answered = true;
        agent.member->received(clock(agent), item.message);
        if (agent.member->epoch() < agent.highest_epoch)
            violated("epochs", fmt::format("agent{} follows a coordinator of an earlier epoch again", wire.agent));
        agent.highest_epoch = agent.member->epoch();
    } else {
        wire.at_agent = agent.answered = false;
        agent.wire = 0;
        agent.member->closed(clock(agent), item.kind == Wire::Item::Kind::end);
    }
    act(wire.agent);
}

/// Two processes of a node always reach each other. A cut of the coordinator's node cuts off all other nodes.
Milliseconds Simulation::cut_until(std::size_t agent_node, std::size_t seat_node, bool up) const {
    const SimulatedNode &agent = nodes_[agent_node], &host = nodes_[seat_node];
    if (agent_node == seat_node) return Milliseconds(0);
    return up ? std::max(agent.cut_up, host.cut_down) : std::max(agent.cut_down, host.cut_up);
}

Milliseconds Simulation::cut_until(const Wire& wire, bool up) const {
    return cut_until(agents_[wire.agent].node, seats_[wire.seat].node, up);
}

/// The agent's side gives the connection up.
void Simulation::hang_up(std::uint64_t number, bool in_order) {
    wires_[number].at_agent = false;
    push(number, true, {in_order ? Wire::Item::Kind::end : Wire::Item::Kind::reset, {}});
}

/// A port of its own, at which a take-over will serve.
int Simulation::bind_port(Agent& agent) {
    agent.standby_port = 20'000 + static_cast<int>(ports_.size());
    ports_[agent.standby_port] = {agent.node, 0};
    return agent.standby_port;
}

void Simulation::name_standbys(std::size_t at, const Member::NameStandbys& named) {
    Agent& agent = agents_[at];
    if (!agent.wire) return;
    agent.seat = wires_[agent.wire].seat;
    agent.place = agent.next_place = 0;
    agent.is_standby = named.is_one;
    agent.ask_pauses.joined(named.is_one);
    agent.standby_ports.clear();
    for (const StandbyPlace& place : named.others) agent.standby_ports.push_back(place.port);
}

void Simulation::try_another(Agent& agent) { agent.next_place = (agent.place + 1) % (agent.standby_ports.size() + 1); }

void Simulation::dial(std::size_t at) {
    Agent& agent = agents_[at];
    agent.answered = false;
    if (agent.wire && !agent.got_message) try_another(agent);
    if (agent.wire) hang_up(std::exchange(agent.wire, 0), false);
    agent.place = agent.next_place;
    try_another(agent);
    const auto attempt = ++agent.dial;
    after(ms(0, 3), [this, at, attempt] {
        const Agent& caller = agents_[at];
        if (caller.dial == attempt && caller.acts() && now_ >= caller.frozen_until) dialed(at);
    });
}

void Simulation::dialed(std::size_t at) {
    Agent& caller = agents_[at];
    SimulatedPort port;
    if (caller.place > 0)
        port = ports_.at(caller.standby_ports[caller.place - 1]);
    else if (caller.seat < seats_.size())
        port = {seats_[caller.seat].node, caller.seat};
    else
        port = {caller.node, 0};
    const bool is_cut =
        now_ < std::max(cut_until(caller.node, port.node, true), cut_until(caller.node, port.node, false));
    if (is_cut || nodes_[port.node].lost) return;
    if (port.seat == 0 || !seats_[port.seat].listening) {
        caller.member->connect_failed(clock(caller), {.refused = caller.standby_ports.empty(),
                                                      .text = "node0:29400: Connection refused",
                                                      .has_more = caller.next_place > caller.place});
        return act(at);
    }
    caller.next_place = caller.place;
    caller.got_message = false;
    caller.wire = ++wire_numbers_;
    Wire& wire = wires_[caller.wire];
    wire.agent = at;
    wire.seat = port.seat;
    wire.at_agent = wire.at_coordinator = true;
    wire.up_due = wire.down_due = now_;
    if (const auto process = seats_[port.seat].process) bind(caller.wire, process);
    caller.member->connected(clock(caller));
    act(at);
}

}  // namespace dlaunch::rendezvous::simulation
