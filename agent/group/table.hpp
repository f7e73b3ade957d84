#pragma once
/// The life of a node's worker group in one round, as a table of states and events (s6-supervise's way).
///
///   idle ──assigned──▶ starting ──started──▶ running ──none_left──▶ clearing ──cleared──▶ idle
///                         │ failure, stop       │ failure, stop        ▲
///                         └────────▶ stopping ◀─┘ ──none_left──────────┤
///                                        │ grace_over, kill            │
///                                        └──────▶ killing ──none_left──┘
///
/// `clearing` is the sweep of what workers left behind and the drain of their pipes; no worker lives then. The machine
/// (worker_group.hpp) feeds events and carries out the one action that each cell names.

#include <array>
#include <cstddef>
#include <string_view>

namespace dlaunch::agent {

enum class GroupState : unsigned char { idle, starting, running, stopping, killing, clearing, over };
inline constexpr std::size_t kGroupStates = 7;

enum class GroupEvent : unsigned char {
    assigned,      ///< a round with this node in it begins
    started,       ///< the last worker runs its program
    spawn_failed,  ///< a worker could not be started
    ended_well,    ///< a worker exited with 0
    ended_badly,   ///< a worker ended in another way
    none_left,     ///< no worker lives and none is to be started
    stop_asked,    ///< by a signal, a time-out, or the job
    kill_asked,    ///< by a second interrupt, a dead guard, a fence
    grace_over,    ///< the workers' time to stop has passed
    unkillable,    ///< a worker outlived SIGKILL
    cleared,       ///< swept and drained
};
inline constexpr std::size_t kGroupEvents = 11;

enum class GroupAction : unsigned char {
    unset,       ///< a hole in the table; a test proves there is none
    ignore,      ///< nothing: the event comes late
    spawn,       ///< start the workers
    note,        ///< nothing beyond the change of state
    fail,        ///< the round's first failure: report it to the job, stop the workers
    stop,        ///< send the stop signal; the grace begins
    kill,        ///< SIGKILL to all workers and to their descendants
    clear,       ///< sweep and drain
    resign,      ///< no further round after this one
    end,         ///< nothing runs: end now
    finish,      ///< report to the job how the round went
    impossible,  ///< a broken invariant of the machine
};

struct GroupCell {
    GroupAction action = GroupAction::unset;
    GroupState next = GroupState::over;
};

using GroupTable = std::array<std::array<GroupCell, kGroupEvents>, kGroupStates>;
extern const GroupTable kGroupTable;

[[nodiscard]] std::string_view name(GroupState state);
[[nodiscard]] std::string_view name(GroupEvent event);

}  // namespace dlaunch::agent
