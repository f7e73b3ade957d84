/// Claims in etcd: requests, and what the owner of a claim does. The keys and transactions are the real ones
/// (discovery/etcd_keys.hpp).
///
/// A request may be lost, or carried out while its reply is lost, or carried out long after the client has given up.
/// Data that is lost, or a key that is deleted by hand, may leave two owners until the first one has looked: `epochs`
/// and `verdict` make an exception for that time, in which no schedule loses anything again.

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "rendezvous/discovery/claim_text.hpp"
#include "rendezvous/discovery/handed_over.hpp"
#include "rendezvous/wire/rounds.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {
namespace {

const std::string kPrefix = etcd_prefix("/dlaunch", "job");
constexpr Milliseconds kAnswersIn{1'000};
constexpr std::int64_t kYear2025_ms = 1'735'689'600'000;

}  // namespace

// --- requests -------------------------------------------------------------------------------------------------------

void Simulation::ask_etcd(std::size_t node, std::function<void()> work, std::function<void(bool)> then) {
    after(ms(0, 10), [this, node, work = std::move(work), then = std::move(then)] {
        const SimulatedNode& asking = nodes_[node];
        if (asking.lost) return;
        const Milliseconds silent_until = std::max(etcd_away_until_, asking.discovery_silent_until);
        if (now_ < silent_until) {
            if (chance(30)) at(silent_until + ms(0, 50), work);
            return after(kAnswersIn, [then] { then(false); });
        }
        work();
        const bool is_lost = now_ < etcd_loses_replies_until_ && chance(30);
        after(is_lost ? kAnswersIn : ms(0, 10), [then, is_lost] { then(!is_lost); });
    });
}

void Simulation::read_keys(std::size_t node, std::function<void(Keys)> then) {
    const auto keys = std::make_shared<EtcdKeys>();
    ask_etcd(
        node, [this, keys] { *keys = keys_in(kPrefix, store_.all(etcd_time())); },
        [keys, then = std::move(then)](bool answered) { then(answered ? Keys(*keys) : Keys()); });
}

/// As the real one: what a transaction without a reply has done is looked up.
void Simulation::claim_in_etcd(std::size_t node, const std::string& content, const EtcdKeys& seen,
                               std::function<void(std::optional<bool>)> then) {
    struct Attempt {
        std::int64_t claim = 0, record = 0;
        std::optional<bool> done;
    };
    const auto attempt = std::make_shared<Attempt>();
    const auto look = [this, node, content, attempt, then](bool is_known) {
        if (is_known && attempt->done == true) return then(true);
        read_keys(node, [this, node, content, attempt, then, is_known](const Keys& keys) {
            if (!keys) return then({});
            if (keys->claim && keys->claim->value == content) return then(true);
            ask_etcd(
                node,
                [this, attempt] {
                    store_.revoke(etcd_time(), attempt->claim);
                    store_.revoke(etcd_time(), attempt->record);
                },
                [then, attempt, is_known](bool) { then(is_known && attempt->done ? attempt->done : std::nullopt); });
        });
    };
    ask_etcd(
        node,
        [this, attempt] {
            attempt->claim = store_.grant(etcd_time(), claim_seconds(options_.node_timeout));
            attempt->record = store_.grant(etcd_time(), kRecordSeconds);
        },
        [this, node, content, seen, attempt, look, then](bool granted) {
            if (!granted) return then({});
            ask_etcd(
                node,
                [this, content, seen, attempt] {
                    const auto claim = to_claim(kPrefix, seen, content, attempt->claim, attempt->record);
                    attempt->done = store_.commit(etcd_time(), claim);
                },
                look);
        });
}

/// The text of a claim, with an epoch above those that are known and by the clock of the node.
std::string Simulation::claim_content(std::size_t node, int port, std::uint64_t above) {
    const std::int64_t skew_ms = static_cast<std::int64_t>(node) * 200;
    const std::uint64_t epoch =
        machines_.claims_above_known ? epoch_after(above, kYear2025_ms + now_.count() + skew_ms) : epoch_of_claim(1);
    return fmt::format("10.0.0.{}:{}\nclaim {}\nepoch {}\n", node, port, draw(), epoch);
}

// --- the owner ------------------------------------------------------------------------------------------------------

void Simulation::when_awake(std::uint64_t number, std::function<void(Process&)> what) {
    Process* asking = process(number);
    if (!asking || asking->leaves) return;
    if (now_ >= asking->frozen_until) return what(*asking);
    at(asking->frozen_until + ms(0, 3), [this, number, what = std::move(what)] { when_awake(number, what); });
}

/// As EtcdClaim::renew().
void Simulation::renew(std::size_t node, const std::string& content, Milliseconds since_held,
                       std::function<void(Claim::State)> then) {
    using State = Claim::State;
    read_keys(node, [this, node, content, since_held, then = std::move(then)](const Keys& keys) {
        if (!keys) return then(State::unknown);
        const OwnersStep step = machines_.owner(owners_step(*keys, content, since_held));
        if (step == OwnersStep::give_up) return then(State::lost);
        if (step == OwnersStep::claim_again)
            return claim_in_etcd(node, content, *keys, [then](std::optional<bool> first) {
                then(!first ? State::unknown : *first ? State::held : State::lost);
            });
        if (!keys->claim) return then(State::held);  // a broken machine
        const auto lives = std::make_shared<bool>();
        ask_etcd(
            node,
            [this, lives, keys] {
                *lives = store_.keep_alive(etcd_time(), keys->claim->lease);
                if (keys->record) store_.keep_alive(etcd_time(), keys->record->lease);
            },
            [then, lives](bool answered) { then(answered && *lives ? State::held : State::unknown); });
    });
}

void Simulation::renew_in_etcd(std::uint64_t number) {
    when_awake(number, [this, number](Process& asking) {
        const Time asked = clock(asking);
        const Seat& seat = seats_[asking.seat];
        renew(seat.node, seat.content, now_ - seat.asked, [this, number, asked, then = now_](Claim::State state) {
            when_awake(number, [this, number, asked, then, state](Process& owner) {
                if (state == Claim::State::lost) {
                    owner.leaves = true;
                    return after(Milliseconds(200), [this, number] { leave_seat(number, false); });
                }
                if (state == Claim::State::held) {
                    seats_[owner.seat].asked = then;
                    const Time from = machines_.lease_from_answer ? clock(owner) : asked;
                    owner.coordinator->granted(from + claim_lease(options_.node_timeout));
                    act_process(number);
                }
                after(Claim::kRenewEvery, [this, number] { renew_in_etcd(number); });
            });
        });
    });
}

/// The guard starts the next process, which renews the claim before it serves.
void Simulation::replace_in_etcd(std::size_t at) {
    const Seat& seat = seats_[at];
    renew(seat.node, seat.content, now_ - seat.asked,
          [this, at, asked = now_, generation = seat.generation](Claim::State state) {
              const Seat& now = seats_[at];
              if (!now.listening || now.process || now.generation != generation || nodes_[now.node].lost) return;
              if (state == Claim::State::lost) return close_seat(at, false);
              if (state == Claim::State::unknown) return replace_process(at, ms(5, 50));
              start_process(at, now_ - asked);
          });
}

/// Waits for etcd at most for a second. Only an owner that has ended the job, or was deposed, changes keys.
void Simulation::release_in_etcd(std::uint64_t number, bool job_is_over) {
    const Process& leaving = *process(number);
    const std::size_t at = leaving.seat;
    const Seat& seat = seats_[at];
    if (!job_is_over && !leaving.coordinator->deposed()) return close_seat(at, false);
    std::string snapshot;
    bool removes = job_is_over || leaving.coordinator->verdict();
    if (!removes && leaving.coordinator->has_handed_over()) {
        const Snapshot state = leaving.coordinator->snapshot();
        removes = HandedOver{0, state}.is_unused();
        snapshot = wire::encode(state);
    }
    ask_etcd(
        seat.node,
        [this, content = seat.content, removes, snapshot] {
            const auto lease = snapshot.empty() ? 0 : store_.grant(etcd_time(), handed_seconds(options_.node_timeout));
            store_.commit(etcd_time(),
                          removes ? to_remove(kPrefix, content) : to_release(kPrefix, content, snapshot, lease));
        },
        [this, at](bool) { close_seat(at, false); });
}

void Simulation::begin_in_etcd(std::size_t node) {
    const int port = 20'000 + static_cast<int>(ports_.size());
    const std::string content = claim_content(node, port, 0);
    const auto claim = store_.grant(etcd_time(), claim_seconds(options_.node_timeout));
    const auto record = store_.grant(etcd_time(), kRecordSeconds);
    store_.commit(etcd_time(), to_claim(kPrefix, {}, content, claim, record));
    const std::size_t seat = add_seat(node, epoch_in(content), 0, false);
    ports_[port] = {node, seat};
    seats_[seat].content = content;
    start_process(seat);
}

// --- faults ---------------------------------------------------------------------------------------------------------

void Simulation::fault_of_etcd(Fault kind) {
    if (!etcd_) return;
    const auto delay_joins = [this](Milliseconds until) {
        disturb(until, everybody());
        for (Agent& agent : agents_)
            if (!agent.admitted) agent.disturbed = true;  // it may not join in time
        faults_end_ = std::max(faults_end_, until);
    };
    const auto away = [&](Milliseconds time) {
        etcd_away_until_ = std::max(etcd_away_until_, now_ + time);
        note(fmt::format("etcd is away for {} ms", time.count()));
        delay_joins(etcd_away_until_);
    };
    // Before the owners have looked, a second loss could bring back a claim beside its successor's.
    const bool is_loss = kind == Fault::etcd_emptied || kind == Fault::etcd_key_deleted;
    if (is_loss && may_have_two_owners()) return;
    switch (kind) {
        case Fault::etcd_away: ++tally_.faults["etcd away"]; return away(ms(200, 15'000));
        case Fault::etcd_loses_replies:
            ++tally_.faults["etcd loses replies"];
            etcd_loses_replies_until_ = now_ + ms(1'000, 15'000);
            note("etcd loses replies");
            return delay_joins(etcd_loses_replies_until_);
        case Fault::etcd_leader_lost:
            ++tally_.faults["etcd leader lost"];
            away(ms(100, 2'500));
            return at(etcd_away_until_, [this] { store_.change_leader(etcd_time()); });
        case Fault::etcd_emptied:
            ++tally_.faults["etcd emptied"];
            note("etcd loses its data");
            store_.lose_data();
            break;
        case Fault::etcd_key_deleted: {
            ++tally_.faults["etcd key deleted"];
            const char* const key = chance(50) ? "claim" : "record";
            note(fmt::format("the key {} is deleted", key));
            store_.remove(kPrefix + key);
            break;
        }
        default: return;
    }
    keys_lost_at_ = now_;
    disturb(now_ + options_.node_timeout, everybody());
}

}  // namespace dlaunch::rendezvous::simulation
