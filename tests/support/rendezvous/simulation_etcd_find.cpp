/// Agents that look for the coordinator in etcd, and take over: the steps of EtcdDiscovery, one request at a time.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "rendezvous/discovery/claim_text.hpp"
#include "rendezvous/discovery/discovery.hpp"
#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/wire/rounds.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {
namespace {

constexpr Milliseconds kLookAgain{100}, kSilentHost{500};

bool knows_the_job(const SimulatedAgent& agent) { return agent.member && agent.member->epoch() > 0; }

}  // namespace

void Simulation::watch_etcd(std::size_t at) {
    if (agents_[at].finding.busy) return;
    read_keys(agents_[at].node, [this, at](const Keys& keys) {
        Agent& agent = agents_[at];
        if (!keys || !agent.acts() || now_ < agent.frozen_until) return;
        if (!keys->are_missing())
            agent.finding.missing_since.reset();
        else if (!agent.finding.missing_since)
            agent.finding.missing_since = clock(agent);
        const bool is_gone =
            agent.finding.missing_since && clock(agent) - *agent.finding.missing_since >= kMissingForGood;
        if (!keys->claim && (keys->record || is_gone)) find_in_etcd(at);
    });
}

void Simulation::find_in_etcd(std::size_t at) {
    Agent& agent = agents_[at];
    if (std::exchange(agent.finding.busy, true)) return;
    agent.finding.waited_for.reset();
    look_in_etcd(at);
}

void Simulation::look_in_etcd(std::size_t at) {
    read_keys(agents_[at].node, [this, at](const Keys& keys) { on_keys(at, keys); });
}

void Simulation::on_keys(std::size_t at, const Keys& keys) {
    Agent& agent = agents_[at];
    if (agent.dead || agent.status) return;
    if (now_ < agent.frozen_until)
        return this->at(agent.frozen_until + ms(0, 3), [this, at, keys] { on_keys(at, keys); });
    auto& finding = agent.finding;
    if (!keys) {
        finding.busy = false;
        if (!agent.member) after(kSilentHost, [this, at] { find_in_etcd(at); });
        return;
    }
    const auto again = [this, at](Milliseconds pause) { after(pause, [this, at] { look_in_etcd(at); }); };
    if (!keys->are_missing())
        finding.missing_since.reset();
    else if (!finding.missing_since)
        finding.missing_since = clock(agent);
    if (keys->are_missing() && verdict_) {  // the job has ended, and its keys were removed
        finding.busy = false;
        agent.dead = !agent.workers.alive;
        return;
    }
    if (keys->claim) return on_claim(at, *keys->claim);
    if (keys->are_missing() && knows_the_job(agent) && clock(agent) - *finding.missing_since < kMissingForGood)
        return again(kLookAgain);
    // A newcomer to an emptied store would begin the job anew. No schedule has such a newcomer while the job lives.
    const bool lives = !processes_.empty() || std::ranges::any_of(agents_, [](const Agent& other) {
        return other.acts() && knows_the_job(other);
    });
    if (keys->are_missing() && !knows_the_job(agent) && keys_lost_at_ && lives) return again(kLookAgain);
    const std::int64_t record = keys->record ? keys->record->mod_revision : 0;
    if (knows_the_job(agent) && std::exchange(finding.waited_for, record) != record)
        return again(agent.workers.alive ? Discovery::kMembersWait : Discovery::kSparesWait);
    claim_for(at, *keys);
}

bool Simulation::refuses(std::size_t node, const SimulatedPort& port) const {
    const bool is_cut = now_ < std::max(cut_until(node, port.node, true), cut_until(node, port.node, false));
    return !is_cut && !nodes_[port.node].lost && (port.seat == 0 ? !port.listens : !seats_[port.seat].listening);
}

/// Joins the owner, unless its port has refused for long enough: then it is dead.
void Simulation::on_claim(std::size_t at, const etcd::KeyValue& claim) {
    Agent& agent = agents_[at];
    auto& finding = agent.finding;
    const SimulatedPort& port = ports_.at(place_in(claim.value).port);
    if (refuses(agent.node, port)) {
        if (std::exchange(finding.refused, claim.create_revision) != claim.create_revision)
            finding.refused_since = clock(agent);
        if (clock(agent) - finding.refused_since < machines_.closed_port)
            return after(kLookAgain, [this, at] { look_in_etcd(at); });
        finding.refused = 0;
        return ask_etcd(
            agent.node, [this, lease = claim.lease] { store_.revoke(etcd_time(), lease); },
            [this, at](bool) { look_in_etcd(at); });
    }
    finding.refused = 0;
    finding.busy = false;
    if (port.seat == 0) {  // the claimant starts no coordinator, and its host does not refuse
        if (!agent.member) after(kSilentHost, [this, at] { find_in_etcd(at); });
        return;
    }
    if (!agent.member) {
        agent.seat = port.seat;
        return make_member(at);
    }
    const std::uint64_t epoch = epoch_in(claim.value);
    if (agent.seat == port.seat || (agent.answered && epoch <= agent.member->epoch())) return;
    agent.seat = port.seat;
    agent.place = agent.next_place = 0;
    agent.member->moved(clock(agent), epoch);
    act(at);
}

void Simulation::claim_for(std::size_t at, const EtcdKeys& seen) {
    Agent& agent = agents_[at];
    if (!agent.standby_port) bind_port(agent);
    const std::uint64_t known = agent.member ? agent.member->epoch() : 0;
    const std::uint64_t before = seen.record ? epoch_in(seen.record->value) : 0;
    const std::string content = claim_content(agent.node, agent.standby_port, std::max(known, before));
    claim_in_etcd(agent.node, content, seen, [this, at, content, seen, asked = now_](std::optional<bool> first) {
        if (!first) return on_keys(at, {});
        *first ? listen(at, content, seen, asked) : look_in_etcd(at);
    });
}

/// The agent may have been frozen since it has claimed. While its port refused, other agents took the claim for dead.
void Simulation::listen(std::size_t at, const std::string& content, const EtcdKeys& seen, Milliseconds asked) {
    when_agent_acts(at, [this, at, content, seen, asked](Agent& agent) {
        ports_[agent.standby_port].listens = true;
        if (!machines_.looks_when_it_listens) return host(at, content, seen, asked);
        read_keys(agent.node, [this, at, content, seen, asked](const Keys& keys) {
            const bool is_own = keys && keys->claim && keys->claim->value == content;
            if (is_own) return host(at, content, seen, asked);
            ports_[agents_[at].standby_port].listens = false;
            bind_port(agents_[at]);
            keys ? look_in_etcd(at) : on_keys(at, {});
        });
    });
}

void Simulation::when_agent_acts(std::size_t at, std::function<void(Agent&)> what) {
    Agent& agent = agents_[at];
    if (agent.dead || agent.status) return;
    if (now_ >= agent.frozen_until) return what(agent);
    this->at(agent.frozen_until + ms(0, 3), [this, at, what = std::move(what)] { when_agent_acts(at, what); });
}

/// The agent's guard starts the coordinator.
void Simulation::host(std::size_t at, const std::string& content, const EtcdKeys& seen, Milliseconds asked) {
    when_agent_acts(at, [this, at, content, seen, asked](Agent&) {
        take_seat(at, content, seen, asked);
        look_in_etcd(at);
    });
}

void Simulation::take_seat(std::size_t at, const std::string& content, const EtcdKeys& seen, Milliseconds asked) {
    Agent& agent = agents_[at];
    note(fmt::format("agent{} has claimed epoch {}", at, epoch_in(content)));
    ++tally_.faults["take-over"];
    auto handed_over = seen.handed ? wire::decode_snapshot(seen.handed->value) : std::nullopt;
    const bool is_unused = handed_over && HandedOver{0, *handed_over}.is_unused();
    const bool succeeds = !is_unused && (seen.record || knows_the_job(agent));
    if (may_have_two_owners()) verdicts_may_differ_ = true;
    const std::size_t seat = add_seat(agent.node, epoch_in(content), 0, succeeds);
    seats_[seat].content = content;
    if (!is_unused && knows_the_job(agent)) seats_[seat].record = std::move(handed_over);
    ports_[agent.standby_port].seat = seat;
    bind_port(agent);
    if (agent.member) agent.member->set_standby_port(agent.standby_port);
    start_process(seat, now_ - asked);
}

}  // namespace dlaunch::rendezvous::simulation
