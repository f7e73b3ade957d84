#include "agent/group/table.hpp"

namespace dlaunch::agent {
namespace {

using enum GroupState;

constexpr GroupCell never{GroupAction::impossible, over};

// Each cell reads action(next state); enter() only changes the state.
// clang-format off
constexpr GroupCell enter(GroupState next) { return {GroupAction::none, next}; }
constexpr GroupCell spawn(GroupState next) { return {GroupAction::spawn, next}; }
constexpr GroupCell settle(GroupState next) { return {GroupAction::settle, next}; }
constexpr GroupCell fail(GroupState next) { return {GroupAction::fail, next}; }
constexpr GroupCell stop(GroupState next) { return {GroupAction::stop, next}; }
constexpr GroupCell kill(GroupState next) { return {GroupAction::kill, next}; }
constexpr GroupCell clear(GroupState next) { return {GroupAction::clear, next}; }
constexpr GroupCell finish(GroupState next) { return {GroupAction::finish, next}; }
// clang-format on

/// One row per event, one column per state, for readers; kGroupTable is the transpose.
using Rows = std::array<std::array<GroupCell, kGroupStates>, kGroupEvents>;

// clang-format off
constexpr Rows kRows = {{
    //                      idle             starting         running          settling         stopping         killing          clearing         over
    {{ /* assigned       */ spawn(starting), never,           never,           never,           never,           never,           never,           finish(over) }},
    {{ /* started        */ never,           enter(running),  never,           never,           never,           never,           never,           enter(over) }},
    {{ /* spawn_failed   */ never,           fail(stopping),  never,           never,           enter(stopping), enter(killing),  never,           enter(over) }},
    {{ /* exited_well    */ never,           enter(starting), enter(running),  enter(settling), enter(stopping), enter(killing),  never,           enter(over) }},
    {{ /* exited_badly   */ never,           fail(stopping),  fail(stopping),  fail(stopping),  enter(stopping), enter(killing),  never,           enter(over) }},
    {{ /* lost_peer      */ never,           fail(stopping),  settle(settling), enter(settling), enter(stopping), enter(killing), never,           enter(over) }},
    {{ /* settled        */ never,           never,           never,           fail(stopping),  never,           never,           never,           enter(over) }},
    {{ /* none_left      */ never,           never,           clear(clearing), clear(clearing), clear(clearing), clear(clearing), never,           enter(over) }},
    {{ /* stop_requested */ enter(over),     stop(stopping),  stop(stopping),  stop(stopping),  enter(stopping), enter(killing),  enter(clearing), enter(over) }},
    {{ /* kill_requested */ enter(over),     kill(killing),   kill(killing),   kill(killing),   kill(killing),   enter(killing),  enter(clearing), enter(over) }},
    {{ /* grace_over     */ never,           never,           never,           never,           kill(killing),   never,           never,           enter(over) }},
    {{ /* unkillable     */ never,           never,           never,           never,           never,           clear(clearing), never,           enter(over) }},
    {{ /* cleared        */ never,           never,           never,           never,           never,           never,           finish(idle),    enter(over) }},
}};
// clang-format on

constexpr GroupTable transposed(const Rows& rows) {
    GroupTable table;
    for (std::size_t event = 0; event < kGroupEvents; ++event)
        for (std::size_t state = 0; state < kGroupStates; ++state) table[state][event] = rows[event][state];
    return table;
}

}  // namespace

const GroupTable kGroupTable = transposed(kRows);

std::string_view name(GroupState state) {
    constexpr std::array<std::string_view, kGroupStates> kNames{"idle",     "starting", "running",  "settling",
                                                                "stopping", "killing",  "clearing", "over"};
    return kNames[static_cast<std::size_t>(state)];
}

std::string_view name(GroupEvent event) {
    constexpr std::array<std::string_view, kGroupEvents> kNames{
        "assigned",  "started",        "spawn_failed",   "exited_well", "exited_badly", "lost_peer", "settled",
        "none_left", "stop_requested", "kill_requested", "grace_over",  "unkillable",   "cleared"};
    return kNames[static_cast<std::size_t>(event)];
}

}  // namespace dlaunch::agent
