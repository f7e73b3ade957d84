#include "agent/group/table.hpp"

namespace dlaunch::agent {
namespace {

using enum GroupState;

constexpr GroupCell never{GroupAction::impossible, over};

// Each cell reads action(next state).
// clang-format off
constexpr GroupCell ignore(GroupState next) { return {GroupAction::ignore, next}; }
constexpr GroupCell spawn(GroupState next) { return {GroupAction::spawn, next}; }
constexpr GroupCell note(GroupState next) { return {GroupAction::note, next}; }
constexpr GroupCell fail(GroupState next) { return {GroupAction::fail, next}; }
constexpr GroupCell stop(GroupState next) { return {GroupAction::stop, next}; }
constexpr GroupCell kill(GroupState next) { return {GroupAction::kill, next}; }
constexpr GroupCell clear(GroupState next) { return {GroupAction::clear, next}; }
constexpr GroupCell resign(GroupState next) { return {GroupAction::resign, next}; }
constexpr GroupCell end(GroupState next) { return {GroupAction::end, next}; }
constexpr GroupCell finish(GroupState next) { return {GroupAction::finish, next}; }
// clang-format on

/// One row per event, one column per state, for readers; kGroupTable is the transpose.
using Rows = std::array<std::array<GroupCell, kGroupStates>, kGroupEvents>;

// clang-format off
constexpr Rows kRows = {{
    //                   idle             starting        running          stopping          killing          clearing          over
    {{ /* assigned     */ spawn(starting), never,          never,           never,            never,           never,            finish(over) }},
    {{ /* started      */ never,           note(running),  never,           never,            never,           never,            ignore(over) }},
    {{ /* spawn_failed */ never,           fail(stopping), never,           note(stopping),   note(killing),   never,            ignore(over) }},
    {{ /* ended_well   */ never,           note(starting), note(running),   note(stopping),   note(killing),   never,            ignore(over) }},
    {{ /* ended_badly  */ never,           fail(stopping), fail(stopping),  note(stopping),   note(killing),   never,            ignore(over) }},
    {{ /* none_left    */ never,           never,          clear(clearing), clear(clearing),  clear(clearing), never,            ignore(over) }},
    {{ /* stop_asked   */ end(over),       stop(stopping), stop(stopping),  resign(stopping), resign(killing), resign(clearing), ignore(over) }},
    {{ /* kill_asked   */ end(over),       kill(killing),  kill(killing),   kill(killing),    ignore(killing), resign(clearing), ignore(over) }},
    {{ /* grace_over   */ never,           never,          never,           kill(killing),    never,           never,            ignore(over) }},
    {{ /* unkillable   */ never,           never,          never,           never,            clear(clearing), never,            ignore(over) }},
    {{ /* cleared      */ never,           never,          never,           never,            never,           finish(idle),     ignore(over) }},
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
    constexpr std::array<std::string_view, kGroupStates> kNames{"idle",    "starting", "running", "stopping",
                                                                "killing", "clearing", "over"};
    return kNames[static_cast<std::size_t>(state)];
}

std::string_view name(GroupEvent event) {
    constexpr std::array<std::string_view, kGroupEvents> kNames{
        "assigned",   "started",    "spawn_failed", "ended_well", "ended_badly", "none_left",
        "stop_asked", "kill_asked", "grace_over",   "unkillable", "cleared"};
    return kNames[static_cast<std::size_t>(event)];
}

}  // namespace dlaunch::agent
