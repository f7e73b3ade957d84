/// Every property of the simulation can fail: for each there is a machine that breaks a rule, and schedules that see
/// it.

#include <gtest/gtest.h>

#include <string>

#include "rendezvous/wire/rounds.hpp"
#include "tests/support/rendezvous/simulation.hpp"

namespace dlaunch::rendezvous::simulation {
namespace {

constexpr std::uint64_t kSchedules = 20'000;

/// A schedule breaks the property; earlier schedules may break other properties.
testing::AssertionResult breaks(const std::string& property, const Machines& machines) {
    std::string other;
    for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
        const std::string violation = Simulation(seed, machines).run();
        if (violation.starts_with(property + ":")) return testing::AssertionSuccess();
        if (!violation.empty()) other = violation;
    }
    return testing::AssertionFailure() << property << " held in every schedule; "
                                       << (other.empty() ? "so did all others" : "only seen: " + other);
}

template <class Mutant>
Machines with_rules() {
    Machines machines;
    machines.coordinator = [](auto options, Time now) {
        return std::make_unique<Coordinator>(std::move(options), now, std::make_unique<const Mutant>());
    };
    return machines;
}

Machines with_options(void (*change)(Coordinator::Options&)) {
    Machines machines;
    machines.coordinator = [change](auto options, Time now) {
        change(options);
        return std::make_unique<Coordinator>(std::move(options), now);
    };
    return machines;
}

/// Its messages are changed on the way out.
template <class Kind>
Machines that_sends(void (*change)(Kind&)) {
    Machines machines;
    machines.acts = [change](Coordinator::Action& action) {
        if (auto* send = std::get_if<Coordinator::Send>(&action))
            if (auto* message = std::get_if<Kind>(&send->message)) change(*message);
        return true;
    };
    return machines;
}

// --- overlap --------------------------------------------------------------------------------------------------------

struct Impatient : Rules {
    Milliseconds silence_limit(Milliseconds node_timeout) const override { return node_timeout / 2; }
};
TEST(Mutants, a_coordinator_that_takes_silent_nodes_for_gone_too_early) {
    EXPECT_TRUE(breaks("overlap", with_rules<Impatient>()));
}

struct Hasty : Rules {
    bool has_stopped(std::size_t, bool) const override { return true; }
};
TEST(Mutants, a_coordinator_that_does_not_wait_for_the_last_worker) {
    EXPECT_TRUE(breaks("overlap", with_rules<Hasty>()));
}

struct Unfenced : Member {
    using Member::Member;
    Milliseconds lease() const override { return node_timeout() * 2; }
};
TEST(Mutants, a_member_that_outlives_its_lease) {
    Machines machines;
    machines.member = [](auto options, Time now, std::uint64_t jitter) {
        return std::make_unique<Unfenced>(std::move(options), now, jitter);
    };
    EXPECT_TRUE(breaks("overlap", machines));
}

/// The margin is there for something: the machines are right, and a kill takes longer than it may.
TEST(Mutants, workers_that_die_later_than_the_margin_allows) {
    Machines machines;
    machines.slowest_kill_percent = 150;
    EXPECT_TRUE(breaks("overlap", machines));
}

struct Unwaiting : Rules {
    Time earliest_start(Time) const override { return {}; }
    bool all_joined(std::size_t, std::size_t) const override { return true; }
};
TEST(Mutants, a_successor_that_does_not_wait_until_members_have_fenced) {
    EXPECT_TRUE(breaks("overlap", with_rules<Unwaiting>()));
}

// --- epochs ---------------------------------------------------------------------------------------------------------

struct Undying : Rules {
    bool lease_has_ended(Time, Time) const override { return false; }
};
TEST(Mutants, a_coordinator_that_acts_after_the_end_of_its_lease) {
    EXPECT_TRUE(breaks("epochs", with_rules<Undying>()));
}

/// As if the process did not detect that another process holds its claim now.
TEST(Mutants, a_coordinator_that_keeps_a_claim_that_it_has_lost) {
    Machines machines;
    machines.owner = [](OwnersStep) { return OwnersStep::keep_alive; };
    EXPECT_TRUE(breaks("epochs", machines));
}

TEST(Mutants, a_coordinator_whose_lease_counts_from_the_answer) {
    Machines machines;
    machines.lease_from_answer = true;
    EXPECT_TRUE(breaks("epochs", machines));
}

TEST(Mutants, a_claimant_whose_claim_was_revoked_before_it_listened) {
    Machines machines;
    machines.closed_port = Milliseconds(0);  // else a matter of a freeze at one moment
    machines.looks_when_it_listens = false;
    EXPECT_TRUE(breaks("epochs", machines));
}

TEST(Mutants, a_claim_with_an_epoch_that_is_not_above_those_of_members) {
    Machines machines;
    machines.claims_above_known = false;
    EXPECT_TRUE(breaks("changes", machines));
}

TEST(Mutants, a_successor_that_uses_numbers_of_rounds_again) {
    EXPECT_TRUE(breaks("epochs", with_options([](auto& options) {
                           if (options.snapshot) options.snapshot->round = -1;
                       })));
}

struct Stubborn : Rules {
    bool is_replaced(std::uint64_t, std::uint64_t) const override { return false; }
};

struct Faithful : Member {
    using Member::Member;
    bool is_stale(std::uint64_t) const override { return false; }
};
/// Either rule alone keeps members from an earlier coordinator: where it steps down, no member is welcomed by it.
TEST(Mutants, a_member_that_follows_an_earlier_coordinator_which_does_not_step_down) {
    Machines machines = with_rules<Stubborn>();
    machines.member = [](auto options, Time now, std::uint64_t jitter) {
        return std::make_unique<Faithful>(std::move(options), now, jitter);
    };
    EXPECT_TRUE(breaks("epochs", machines));
}

// --- ranks ----------------------------------------------------------------------------------------------------------

TEST(Mutants, a_coordinator_that_assigns_one_rank_twice) {
    EXPECT_TRUE(
        breaks("ranks", that_sends<Assigned>([](Assigned& assigned) { assigned.ranks.blocks[0].first_rank = 0; })));
}

// --- budget ---------------------------------------------------------------------------------------------------------

TEST(Mutants, a_coordinator_that_restarts_too_often) {
    EXPECT_TRUE(breaks("budget", with_options([](auto& options) { ++options.restarts.max_restarts; })));
}

TEST(Mutants, a_successor_whose_own_options_count) {
    EXPECT_TRUE(breaks("budget", with_options([](auto& options) {
                           if (!options.succeeds) return;
                           options.restarts.max_restarts += 3;
                           if (options.snapshot) options.snapshot->config = options;
                       })));
}

TEST(Mutants, a_coordinator_that_gives_up_while_budget_is_left) {
    EXPECT_TRUE(breaks("budget", with_options([](auto& options) { options.restarts.max_restarts /= 2; })));
}

struct Generous : Rules {
    Blame::Outcome outcome(const Blame& blame) const override {
        const auto outcome = blame.outcome();
        return outcome == Blame::Outcome::failure ? Blame::Outcome::change : outcome;
    }
};
TEST(Mutants, a_coordinator_that_counts_no_failure) { EXPECT_TRUE(breaks("budget", with_rules<Generous>())); }

// --- verdict --------------------------------------------------------------------------------------------------------

TEST(Mutants, a_coordinator_that_takes_failures_for_success) {
    EXPECT_TRUE(breaks("verdict", that_sends<End>([](End& end) { end.verdict.status = 0; })));
}

TEST(Mutants, a_coordinator_that_takes_no_failure_for_permanent) {
    Machines machines;
    machines.member_acts = [](Member::Action& action) {
        if (auto* send = std::get_if<Member::SendOut>(&action))
            if (auto* report = std::get_if<Report>(&send->message); report && report->cause)
                report->cause->permanent = false;
        return true;
    };
    EXPECT_TRUE(breaks("verdict", machines));
}

TEST(Mutants, a_coordinator_that_names_another_failure_than_the_first) {
    Machines machines;
    machines.acts = [](Coordinator::Action& action) {
        if (auto* record = std::get_if<Coordinator::Record>(&action); record && record->snapshot.verdict)
            std::ranges::reverse(record->snapshot.verdict->records);
        return true;
    };
    EXPECT_TRUE(breaks("verdict", machines));
}

// --- cause, changes -------------------------------------------------------------------------------------------------

TEST(Mutants, a_coordinator_that_takes_a_cut_for_a_death) {
    Machines machines;
    machines.cut_is_death = true;
    EXPECT_TRUE(breaks("cause", machines));
    EXPECT_TRUE(breaks("changes", machines));
}

struct Mistrustful : Rules {
    bool all_joined(std::size_t, std::size_t) const override { return false; }
};
TEST(Mutants, a_successor_that_adopts_no_round) { EXPECT_TRUE(breaks("cause", with_rules<Mistrustful>())); }

TEST(Mutants, a_coordinator_that_does_not_record_why_it_stops_a_round) {
    Machines machines;
    machines.acts = [](Coordinator::Action& action) {
        if (auto* record = std::get_if<Coordinator::Record>(&action)) record->snapshot.stop.reset();
        return true;
    };
    EXPECT_TRUE(breaks("verdict", machines));
}

TEST(Mutants, a_coordinator_that_records_a_decision_after_it_was_sent) {
    Machines machines;
    machines.records_last = true;
    EXPECT_TRUE(breaks("verdict", machines));
}

// --- progress, the end, the wire ------------------------------------------------------------------------------------

TEST(Mutants, a_coordinator_that_starts_no_round_in_time) {
    struct Slow : Rules {
        Time earliest_start(Time not_before) const override { return not_before + Milliseconds(12'000); }
    };
    EXPECT_TRUE(breaks("progress", with_rules<Slow>()));
}

TEST(Mutants, a_member_that_ends_instead_of_killing_its_workers) {
    Machines machines;
    machines.member_acts = [](Member::Action& action) {
        if (std::holds_alternative<Member::KillWorkers>(action)) action = Member::EndJob{};
        return true;
    };
    EXPECT_TRUE(breaks("left_behind", machines));
}

TEST(Mutants, a_member_that_never_ends) {
    Machines machines;
    machines.member_acts = [](Member::Action& action) { return !std::holds_alternative<Member::EndJob>(action); };
    EXPECT_TRUE(breaks("liveness", machines));
}

TEST(Mutants, a_message_that_does_not_fit_on_the_wire) {
    EXPECT_TRUE(
        breaks("wire", that_sends<Notice>([](Notice& notice) { notice.text.assign(wire::kMaxText + 1, 'x'); })));
}

}  // namespace
}  // namespace dlaunch::rendezvous::simulation
