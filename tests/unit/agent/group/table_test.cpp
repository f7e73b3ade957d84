#include "agent/group/table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dlaunch::agent {
namespace {

using A = GroupAction;
using E = GroupEvent;
using S = GroupState;

GroupCell cell(S state, E event) {
    return kGroupTable[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

/// Feeds events and tells the actions.
std::vector<A> walk(WorkerGroup& group, std::initializer_list<E> events) {
    std::vector<A> actions;
    for (E event : events) actions.push_back(group.on(event));
    return actions;
}

TEST(GroupTable, every_cell_is_filled) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        for (std::size_t event = 0; event < kGroupEvents; ++event)
            EXPECT_NE(kGroupTable[state][event].action, A::unset)
                << name(static_cast<S>(state)) << " has no answer to " << name(static_cast<E>(event));
}

TEST(GroupTable, states_and_events_have_names_of_their_own) {
    EXPECT_EQ(name(S::over), "over");
    EXPECT_EQ(name(E::cleared), "cleared");
    for (std::size_t state = 0; state < kGroupStates; ++state) EXPECT_FALSE(name(static_cast<S>(state)).empty());
    for (std::size_t event = 0; event < kGroupEvents; ++event) EXPECT_FALSE(name(static_cast<E>(event)).empty());
}

TEST(GroupTable, whoever_asks_is_heard_in_every_state) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        for (E event : {E::stop_asked, E::kill_asked})
            EXPECT_NE(cell(static_cast<S>(state), event).action, A::impossible);
}

TEST(GroupTable, a_late_timer_never_breaks_anything) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        EXPECT_NE(cell(static_cast<S>(state), E::grace_over).action, A::impossible) << name(static_cast<S>(state));
}

TEST(GroupTable, only_what_stops_is_killed_by_the_grace) {
    for (std::size_t state = 0; state < kGroupStates; ++state)
        EXPECT_EQ(cell(static_cast<S>(state), E::grace_over).action == A::kill, static_cast<S>(state) == S::stopping);
}

TEST(GroupTable, over_is_for_ever) {
    for (std::size_t event = 0; event < kGroupEvents; ++event) {
        const bool is_late = static_cast<E>(event) == E::assigned;  // who sent it waits for an answer
        EXPECT_EQ(cell(S::over, static_cast<E>(event)).action, is_late ? A::finish : A::ignore);
        EXPECT_EQ(cell(S::over, static_cast<E>(event)).next, S::over);
    }
}

TEST(WorkerGroup, a_round_that_succeeds) {
    WorkerGroup group;
    EXPECT_EQ(walk(group, {E::assigned, E::started, E::ended_well, E::ended_well, E::none_left, E::cleared}),
              (std::vector{A::spawn, A::note, A::note, A::note, A::clear, A::finish}));
    EXPECT_EQ(group.state(), S::idle);
}

TEST(WorkerGroup, a_failure_stops_the_others_and_is_told_once) {
    WorkerGroup group;
    EXPECT_EQ(walk(group, {E::assigned, E::started, E::ended_badly, E::ended_badly, E::none_left, E::cleared}),
              (std::vector{A::spawn, A::note, A::fail, A::note, A::clear, A::finish}));
}

TEST(WorkerGroup, a_failure_while_others_are_being_started_starts_no_more) {
    WorkerGroup group;
    walk(group, {E::assigned, E::ended_badly});
    EXPECT_EQ(group.state(), S::stopping);
    EXPECT_EQ(walk(group, {E::none_left}), std::vector{A::clear});
}

TEST(WorkerGroup, who_does_not_end_in_time_is_killed) {
    WorkerGroup group;
    EXPECT_EQ(
        walk(group, {E::assigned, E::started, E::stop_asked, E::grace_over, E::ended_badly, E::none_left, E::cleared}),
        (std::vector{A::spawn, A::note, A::stop, A::kill, A::note, A::clear, A::finish}));
}

TEST(WorkerGroup, a_second_interrupt_does_not_wait_for_the_grace) {
    WorkerGroup group;
    EXPECT_EQ(walk(group, {E::assigned, E::started, E::stop_asked, E::kill_asked, E::kill_asked}),
              (std::vector{A::spawn, A::note, A::stop, A::kill, A::ignore}));
}

TEST(WorkerGroup, an_interrupt_between_two_rounds_ends_at_once) {
    WorkerGroup group;
    walk(group, {E::assigned, E::started, E::ended_badly, E::none_left, E::cleared});
    EXPECT_EQ(walk(group, {E::stop_asked, E::assigned}), (std::vector{A::end, A::finish}))
        << "who assigned it, not knowing, waits for an answer";
}

TEST(WorkerGroup, an_interrupt_while_a_failure_is_being_handled_ends_the_job_after_it) {
    WorkerGroup group;
    EXPECT_EQ(
        walk(group, {E::assigned, E::started, E::ended_badly, E::stop_asked, E::none_left, E::stop_asked, E::cleared}),
        (std::vector{A::spawn, A::note, A::fail, A::resign, A::clear, A::resign, A::finish}));
}

TEST(WorkerGroup, a_driver_that_breaks_the_rules_is_told) {
    WorkerGroup group;
    EXPECT_EQ(group.on(E::ended_well), A::impossible);
}

}  // namespace
}  // namespace dlaunch::agent
