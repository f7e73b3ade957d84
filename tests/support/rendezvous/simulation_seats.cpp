/// The simulated processes of coordinators, the guards that start them again, and the claim of the `file` discovery.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/wire/rounds.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {

constexpr Milliseconds kClosedPort{1'000};  // time until a claim with a closed port counts as dead

Simulation::Process* Simulation::process(std::uint64_t number) {
    const auto found = processes_.find(number);
    return found == processes_.end() ? nullptr : &found->second;
}

std::size_t Simulation::current_seat() const {
    if (etcd_) return seats_.size() - 1;  // the latest
    return fixed_ ? std::min<std::size_t>(1, seats_.size() - 1) : claim_.seat;
}

// --- seats ----------------------------------------------------------------------------------------------------------

std::size_t Simulation::add_seat(std::size_t node, std::uint64_t epoch, std::uint64_t claim, bool succeeds) {
    seats_.emplace_back();
    Seat& seat = seats_.back();
    seat.node = node;
    seat.epoch = epoch;
    seat.claim = claim;
    seat.succeeds = succeeds;
    return seats_.size() - 1;
}

void Simulation::start_process(std::size_t at, Milliseconds held_for) {
    Seat& seat = seats_[at];
    seat.process = ++process_numbers_;
    Process& process = processes_[seat.process];
    process.seat = at;
    process.clock = any_clock();
    Coordinator::Options options = options_;
    process.epoch = options.epoch = seat.epoch + seat.generation;
    options.incarnation = draw();
    options.succeeds = seat.succeeds || seat.generation > 0;
    options.snapshot = seat.record;
    note(fmt::format("node{} hosts coordinator {} of epoch {}", seat.node, seat.process, process.epoch));
    if (!options.snapshot && verdict_) verdicts_may_differ_ = true;
    if (options.succeeds) expect_adoption(seat.process);
    process.coordinator = machines_.coordinator(options, clock(process));
    for (auto& [number, wire] : wires_)
        if (wire.seat == at && wire.process == 0 && wire.at_coordinator) bind(number, seat.process);
    if (!fixed_) process.coordinator->granted(clock(process) - held_for + claim_lease(options_.node_timeout));
    seat.asked = now_ - held_for;
    if (fixed_ || held_for < claim_lease(options_.node_timeout)) latest_process_ = seat.process;
    if (!fixed_) etcd_ ? renew_in_etcd(seat.process) : renew_claim(seat.process);
    act_process(seat.process);
}

void Simulation::act_process(std::uint64_t number) {
    auto actions = process(number)->coordinator->take_actions();
    if (machines_.records_last && !actions.empty() && std::holds_alternative<Coordinator::Record>(actions.front()))
        std::rotate(actions.begin(), actions.begin() + 1, actions.end());
    for (Coordinator::Action& action : actions) {
        if (machines_.acts && !machines_.acts(action)) continue;
        perform(number, action);
        if (coordinator_crash_in_ > 0 && --coordinator_crash_in_ == 0) {
            note("between two actions:");
            ++tally_.faults["coordinator crash point"];
            disturb_coordinator();
            return crash_process(number);
        }
    }
    Process& acting = *process(number);
    if (acting.coordinator->deposed()) {
        if (!std::exchange(acting.leaves, true)) {
            note(fmt::format("coordinator {} is deposed: {}", number, acting.coordinator->deposed_reason()));
            after(ms(200, 600), [this, number] { leave_seat(number, false); });
        }
        return;
    }
    if (acting.coordinator->finished() && !std::exchange(acting.leaves, true))
        after(ms(200, 300), [this, number] { leave_seat(number, true); });
    const Time due = acting.coordinator->deadline();
    if (due == kNever) return;
    const auto tick = ++acting.tick;
    at(std::max(now_, acting.clock.when(due)) + ms(0, 5), [this, number, tick] {
        if (Process* ticking = process(number); ticking && ticking->tick == tick) tick_process(number);
    });
}

void Simulation::perform(std::uint64_t number, Coordinator::Action& action) {
    if (auto* send = std::get_if<Coordinator::Send>(&action)) {
        check_sent(number, send->message);
        for (const ConnectionId wire : send->to) {
            const auto* assigned = std::get_if<Assigned>(&send->message);
            if (assigned)
                rounds_[{assigned->stamp.epoch, assigned->stamp.round}].placed[assigned->group_rank] =
                    wires_[wire].agent;
            push(wire, false, {Wire::Item::Kind::message, send->message});
        }
    } else if (auto* record = std::get_if<Coordinator::Record>(&action)) {
        const auto read = wire::decode_snapshot(wire::encode(record->snapshot));
        if (!read || *read != record->snapshot) violated("wire", "a snapshot does not arrive as it was sent");
        Seat& seat = seats_[process(number)->seat];
        seat.record = std::move(record->snapshot);
        if (seat.record->verdict) check_verdict(*seat.record->verdict);
    } else {
        const auto closed = std::get<Coordinator::Close>(action).connection;
        if (wires_.contains(closed) && std::exchange(wires_[closed].at_coordinator, false))
            push(closed, false, {Wire::Item::Kind::end, {}});
    }
}

void Simulation::tick_process(std::uint64_t number) {
    Process& ticking = *process(number);
    if (now_ < ticking.frozen_until)
        return at(ticking.frozen_until + ms(0, 3), [this, number, tick = ticking.tick] {
            if (Process* awake = process(number); awake && awake->tick == tick) tick_process(number);
        });
    ticking.coordinator->tick(clock(ticking));
    act_process(number);
}

/// The kernel closes the connections of the process, unless its node is lost.
void Simulation::end_process(std::uint64_t number, bool is_silent) {
    Process* ended = process(number);
    if (!ended) return;
    Seat& seat = seats_[ended->seat];
    if (seat.process == number) seat.process = 0;
    for (auto& [at, wire] : wires_)
        if (wire.process == number && std::exchange(wire.at_coordinator, false) && !is_silent)
            push(at, false, {chance(50) ? Wire::Item::Kind::end : Wire::Item::Kind::reset, {}});
    processes_.erase(number);
}

void Simulation::crash_process(std::uint64_t number) {
    const std::size_t seat = process(number)->seat;
    note(fmt::format("coordinator {} dies", number));
    end_process(number, false);
    replace_process(seat, ms(5, 50));
}

void Simulation::replace_process(std::size_t at, Milliseconds pause) {
    const auto generation = ++seats_[at].generation;
    const Milliseconds awake = std::max(now_, seats_[at].frozen_until) + pause;
    this->at(awake, [this, at, generation] {
        Seat& seat = seats_[at];
        if (!seat.listening || seat.process || seat.generation != generation || nodes_[seat.node].lost) return;
        if (etcd_) return replace_in_etcd(at);
        // A frozen guard may have lost the claim meanwhile: the process renews the claim before it serves.
        if (seat.claim && (!claim_.exists || claim_.number != seat.claim)) return close_seat(at, false);
        if (seat.claim) claim_.renewed = now_;
        start_process(at);
    });
}

void Simulation::close_seat(std::size_t at, bool is_silent) {
    Seat& seat = seats_[at];
    if (!std::exchange(seat.listening, false)) return;
    end_process(seat.process, is_silent);
    for (auto& [number, wire] : wires_)
        if (wire.seat == at && wire.process == 0 && std::exchange(wire.at_coordinator, false) && !is_silent)
            push(number, false, {Wire::Item::Kind::reset, {}});
}

/// The process exits in order: its guard does not start it again.
void Simulation::leave_seat(std::uint64_t number, bool job_is_over) {
    Process* leaving = process(number);
    if (!leaving) return;
    if (now_ < leaving->frozen_until)
        return at(leaving->frozen_until, [this, number, job_is_over] { leave_seat(number, job_is_over); });
    const std::size_t at = leaving->seat;
    if (etcd_) return release_in_etcd(number, job_is_over);
    if (seats_[at].claim && claim_.exists && claim_.number == seats_[at].claim) {
        if (job_is_over) claim_.exists = false;
        claim_.released = true;
        claim_.released_at = now_;
        if (leaving->coordinator->has_handed_over()) claim_.handed_over = seats_[at].record;
    }
    close_seat(at, false);
}

// --- the claim ------------------------------------------------------------------------------------------------------

void Simulation::renew_claim(std::uint64_t number) {
    Process* asking = process(number);
    if (!asking || asking->leaves) return;
    if (now_ < asking->frozen_until)
        return at(asking->frozen_until + ms(0, 3), [this, number] { renew_claim(number); });
    const Time asked = clock(*asking);
    const Milliseconds silent_until = nodes_[seats_[asking->seat].node].discovery_silent_until;
    at(std::max(now_, silent_until) + ms(0, 20), [this, number, asked] { claim_answered(number, asked); });
}

void Simulation::claim_answered(std::uint64_t number, Time asked) {
    Process* asking = process(number);
    if (!asking || asking->leaves) return;
    if (now_ < asking->frozen_until)
        return at(asking->frozen_until + ms(0, 3), [this, number, asked] { claim_answered(number, asked); });
    if (!claim_.exists || claim_.number != seats_[asking->seat].claim) {
        asking->leaves = true;
        after(Milliseconds(200), [this, number] { leave_seat(number, false); });
        return;
    }
    claim_.renewed = now_;
    asking->coordinator->granted(asked + claim_lease(options_.node_timeout));
    act_process(number);
    after(Claim::kRenewEvery, [this, number] { renew_claim(number); });
}

/// Again and again while the agent lives: a standby watches the claim, and an agent without a coordinator locates one.
void Simulation::look(std::size_t at) {
    Agent& agent = agents_[at];
    if (!agent.acts()) return;
    after(agent.answered ? Milliseconds(250) : Milliseconds(50), [this, at] { look(at); });
    if (agent.answered) agent.asks_at.reset();
    if (now_ < agent.frozen_until || now_ < nodes_[agent.node].discovery_silent_until) return;
    if (agent.answered && !agent.is_standby) return;
    if (agent.answered) return etcd_ ? watch_etcd(at) : is_vacant(agent) ? locate(at) : void();
    if (!agent.asks_at) agent.asks_at = now_ + agent.ask_pauses.next(options_.node_timeout, draw());
    if (now_ < *agent.asks_at) return;
    agent.asks_at.reset();
    locate(at);
}

bool Simulation::is_vacant(Agent& agent) {
    if (!claim_.exists) return false;
    const Time here = clock(agent);
    if (agent.seen.claim != claim_.number || agent.seen.renewed != claim_.renewed)
        agent.seen = {claim_.number, claim_.renewed, here};
    if (claim_.released) return true;
    const Seat& owner = seats_[claim_.seat];
    const bool is_closed = !owner.listening && !nodes_[owner.node].lost;
    return here - agent.seen.since >= (is_closed ? kClosedPort : claim_dies_after(options_.node_timeout));
}

void Simulation::locate(std::size_t at) {
    Agent& agent = agents_[at];
    if (agent.dead || agent.status) return;
    if (etcd_) return find_in_etcd(at);
    if (!claim_.exists) {
        if (verdict_) {  // the job has ended, and its claim was removed: a later claim is of another job
            agent.dead = !agent.workers.alive;
        } else if (!agent.member) {
            after(Milliseconds(100), [this, at] { locate(at); });
        }
        return;
    }
    if (is_vacant(agent)) return take_over(at);
    if (!agent.member) {
        agent.seat = claim_.seat;
        return make_member(at);
    }
    if (agent.seat == claim_.seat) return;
    agent.seat = claim_.seat;
    agent.place = agent.next_place = 0;
    agent.member->moved(clock(agent), epoch_of_claim(claim_.number));
    act(at);
}

void Simulation::take_over(std::size_t at) {
    Agent& agent = agents_[at];
    const std::uint64_t known = agent.member ? claim_of_epoch(agent.member->epoch()) : 0;
    const std::uint64_t number = std::max(claim_.number, known) + 1;
    note(fmt::format("agent{} claims number {}", at, number));
    ++tally_.faults["take-over"];
    const bool is_recent = now_ - claim_.released_at <= options_.node_timeout;
    auto handed_over = std::move(claim_.handed_over);
    claim_ = {.exists = true, .number = number, .seat = seats_.size(), .renewed = now_};
    const bool is_unused = handed_over && HandedOver{0, *handed_over}.is_unused();
    const std::size_t seat = add_seat(agent.node, epoch_of_claim(number), number, !is_unused);
    if (is_recent && !is_unused) seats_[seat].record = std::move(handed_over);
    if (agent.member) {
        ports_[agent.standby_port].seat = seat;
        agent.member->set_standby_port(bind_port(agent));
    }
    start_process(seat);
    locate(at);
}

}  // namespace dlaunch::rendezvous::simulation
