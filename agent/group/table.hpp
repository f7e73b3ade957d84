#pragma once
/// The life of a node's worker group in one round: a table of states and events, no I/O, no clock (s6-supervise's way).
///
///   idle ──assigned──▶ starting ──started──▶ running ──none_left──▶ clearing ──cleared──▶ idle
///                         │ failure, stop       │ failure, stop        ▲
///                         └────────▶ stopping ◀─┘ ──none_left──────────┤
///                                        │ grace_over, kill            │
///                                        └──────▶ killing ──none_left──┘
///
/// `clearing` is the sweep of what workers left behind and the drain of their pipes; no worker lives then. The driver
/// (round.cpp) feeds events as they come and carries out the one action each cell names.

#include <array>
#include <cstddef>
#include <string_view>

namespace dlaunch::agent {

enum class GroupState : unsigned char { idle, starting, running, stopping, killing, clearing, over };
inline constexpr std::size_t kGroupStates = 7;

enum class GroupEvent : unsigned char {
    assigned,      ///< a round with us in it begins
    started,       ///< the last worker runs its program
    spawn_failed,  ///< a worker could not be started
    ended_well,    ///< a worker exited with 0
    ended_badly,   ///< a worker ended in another way
    none_left,     ///< nobody lives and nobody is still to be started
    stop_asked,    ///< by a signal, a time-out, or the job
    kill_asked,    ///< a second interrupt, a dead guard, a fence
    grace_over,    ///< the time the workers had to stop in
    cleared,       ///< swept and drained
};
inline constexpr std::size_t kGroupEvents = 10;

enum class GroupAction : unsigned char {
    unset,       ///< a hole in the table; a test proves there is none
    ignore,      ///< nothing: the event comes late
    spawn,       ///< start the workers one by one
    note,        ///< write it down
    fail,        ///< the round's first failure: write it down, tell the job, stop the others
    stop,        ///< send the stop signal, start the grace
    kill,        ///< SIGKILL to all, and to what hides below them
    clear,       ///< sweep and drain
    resign,      ///< no further round after this one
    end,         ///< nothing runs: end now
    finish,      ///< tell the job how the round went
    impossible,  ///< a broken invariant of the driver
};

struct GroupCell {
    GroupAction action = GroupAction::unset;
    GroupState next = GroupState::over;
};

using GroupTable = std::array<std::array<GroupCell, kGroupEvents>, kGroupStates>;
extern const GroupTable kGroupTable;

[[nodiscard]] std::string_view name(GroupState state);
[[nodiscard]] std::string_view name(GroupEvent event);

/// Walks the table.
class WorkerGroup {
public:
    [[nodiscard]] GroupState state() const { return state_; }

    /// The action to carry out; the state is the next one already.
    GroupAction on(GroupEvent event) {
        const GroupCell& cell = kGroupTable[static_cast<std::size_t>(state_)][static_cast<std::size_t>(event)];
        state_ = cell.next;
        return cell.action;
    }

private:
    GroupState state_ = GroupState::idle;
};

}  // namespace dlaunch::agent
