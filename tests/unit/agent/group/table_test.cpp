#include "agent/group/table.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using A = GroupAction;
using E = GroupEvent;
using S = GroupState;

GroupCell cell(S state, E event) {
    return kGroupTable[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

TEST(GroupTable, every_cell_is_filled) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        for (std::size_t event = 0; event < kGroupEvents; ++event)
            EXPECT_NE(kGroupTable[state][event].action, A::unset)
                << name(static_cast<S>(state)) << " has no answer to " << name(static_cast<E>(event));
}

TEST(GroupTable, states_and_events_have_distinct_names) {
    EXPECT_EQ(name(S::over), "over");
    EXPECT_EQ(name(E::unkillable), "unkillable");
    EXPECT_EQ(name(E::cleared), "cleared");
    for (std::size_t state = 0; state < kGroupStates; ++state) EXPECT_FALSE(name(static_cast<S>(state)).empty());
    for (std::size_t event = 0; event < kGroupEvents; ++event) EXPECT_FALSE(name(static_cast<E>(event)).empty());
}

TEST(GroupTable, requests_are_answered_in_every_state) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        for (E event : {E::stop_requested, E::kill_requested})
            EXPECT_NE(cell(static_cast<S>(state), event).action, A::impossible);
}

TEST(GroupTable, only_a_stopping_group_is_killed_by_the_end_of_the_grace) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        EXPECT_EQ(cell(static_cast<S>(state), E::grace_over).action == A::kill, static_cast<S>(state) == S::stopping);
}

TEST(GroupTable, over_is_final) {
    for (std::size_t event = 0; event < kGroupEvents; ++event) {
        const bool is_late = static_cast<E>(event) == E::assigned;  // its sender waits for an answer
        EXPECT_EQ(cell(S::over, static_cast<E>(event)).action, is_late ? A::finish : A::none);
        EXPECT_EQ(cell(S::over, static_cast<E>(event)).next, S::over);
    }
}

TEST(GroupTable, a_round_that_succeeds) {
    EXPECT_EQ(cell(S::idle, E::assigned).next, S::starting);
    EXPECT_EQ(cell(S::starting, E::started).next, S::running);
    EXPECT_EQ(cell(S::running, E::none_left).action, A::clear);
    EXPECT_EQ(cell(S::clearing, E::cleared).action, A::finish);
    EXPECT_EQ(cell(S::clearing, E::cleared).next, S::idle);
}

TEST(GroupTable, a_failure_is_reported_once) {
    for (S state : {S::starting, S::running}) EXPECT_EQ(cell(state, E::exited_badly).action, A::fail);
    for (S state : {S::stopping, S::killing}) EXPECT_EQ(cell(state, E::exited_badly).action, A::none);
}

}  // namespace
}  // namespace dlaunch::agent
