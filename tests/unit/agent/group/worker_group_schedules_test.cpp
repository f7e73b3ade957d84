// Thousands of seeded schedules of the worker group's machine. The same checks must catch faulty machines.

#include <gtest/gtest.h>

#include "tests/support/agent/group_schedule.hpp"

namespace dlaunch::agent {
namespace {

/// The violated rule; empty: none.
std::string fault_of(unsigned seed, const GroupTable& table) {
    try {
        Schedule(seed, table).run();
        return {};
    } catch (const std::logic_error& error) {
        return error.what();
    } catch (const Violation& violation) {
        return violation.what();
    }
}

TEST(WorkerGroupSchedules, hold_the_rules) {
    for (unsigned seed = 1; seed <= 5000; ++seed) ASSERT_EQ(fault_of(seed, kGroupTable), "") << "seed " << seed;
}

struct Mutant {
    const char* name;
    S state;
    E event;
    GroupCell cell;
};

class MutatedWorkerGroup : public testing::TestWithParam<Mutant> {};

TEST_P(MutatedWorkerGroup, is_caught) {
    GroupTable table = kGroupTable;
    const Mutant& mutant = GetParam();
    table[static_cast<std::size_t>(mutant.state)][static_cast<std::size_t>(mutant.event)] = mutant.cell;
    for (unsigned seed = 1; seed <= 5000; ++seed)
        if (!fault_of(seed, table).empty()) return;
    FAIL() << "no schedule shows it";
}

INSTANTIATE_TEST_SUITE_P(
    Machines, MutatedWorkerGroup,
    testing::Values(Mutant{"failure_is_no_failure", S::running, E::exited_badly, {A::none, S::running}},
                    Mutant{"failure_in_starting_goes_on", S::starting, E::exited_badly, {A::none, S::starting}},
                    Mutant{"every_failure_is_the_first", S::stopping, E::exited_badly, {A::fail, S::stopping}},
                    Mutant{"kill_waits_for_the_grace", S::running, E::kill_requested, {A::stop, S::killing}},
                    Mutant{"grace_never_ends", S::stopping, E::grace_over, {A::none, S::stopping}},
                    Mutant{"running_is_never_over", S::running, E::none_left, {A::none, S::running}},
                    Mutant{"drain_before_death", S::stopping, E::kill_requested, {A::clear, S::clearing}},
                    Mutant{"unkillable_holds_the_round", S::killing, E::unkillable, {A::none, S::killing}},
                    Mutant{"settling_never_ends", S::settling, E::settled, {A::none, S::settling}},
                    Mutant{"failure_in_settling_goes_on", S::settling, E::exited_badly, {A::none, S::settling}},
                    Mutant{"settling_is_never_over", S::settling, E::none_left, {A::none, S::settling}},
                    Mutant{"lost_peer_stops_nobody", S::running, E::lost_peer, {A::none, S::running}},
                    Mutant{"round_never_finishes", S::clearing, E::cleared, {A::none, S::clearing}},
                    Mutant{"started_is_forgotten", S::starting, E::started, {A::none, S::starting}},
                    Mutant{"stop_in_starting_is_lost", S::starting, E::stop_requested, {A::none, S::stopping}}),
    [](const auto& mutant) { return std::string(mutant.param.name); });

}  // namespace
}  // namespace dlaunch::agent
