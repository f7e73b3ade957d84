#pragma once
/// The life of a node's worker group in one round, as a table of states and events, as in s6-supervise.
///
///   idle ──assigned──▶ starting ──started──▶ running ──none_left──▶ clearing ──cleared──▶ idle
///                         │                    │  │ lost_peer        ▲
///                         │ failure, stop      │  ▼                  │
///                         │                    │ settling ─none_left─┤
///                         │                    ▼  │ failure, stop,   │
///                         └────────────────▶ stopping ◀┘ settled     │
///                                              │     └────none_left──┤
///                                              ▼ grace_over, kill    │
///                                            killing ─────none_left──┤
///                                               └────────unkillable──┘
///   idle ──stop, kill──▶ over
///
/// In `settling` workers have failed because they lost a peer: the group waits for the failure of that peer before it
/// stops the other workers. `kill` leads to `killing` from `starting`, `running` and `settling`, too. In `clearing` no
/// worker lives, except unkillable ones; the agent sweeps left-behind processes and drains the pipes. The state machine
/// (worker_group.hpp) looks up the cell of each event and carries out its one action.

#include <array>
#include <cstddef>
#include <string_view>

namespace dlaunch::agent {

enum class GroupState : unsigned char { idle, starting, running, settling, stopping, killing, clearing, over };
inline constexpr std::size_t kGroupStates = 8;

enum class GroupEvent : unsigned char {
    assigned,        ///< a round with this node in it begins
    started,         ///< the last worker runs its program
    spawn_failed,    ///< a worker could not be started
    exited_well,     ///< a worker exited with 0
    exited_badly,    ///< a worker exited with another status or died of a signal
    lost_peer,       ///< a worker failed, and its message reports a lost peer
    settled,         ///< the wait for a better cause is over
    none_left,       ///< no worker lives and none is to be started
    stop_requested,  ///< by a signal, the time limit, or the job
    kill_requested,  ///< by a second interrupt, a dead guard, a fence
    grace_over,      ///< the workers' time to stop is over
    unkillable,      ///< a worker outlived SIGKILL
    cleared,         ///< swept and drained
};
inline constexpr std::size_t kGroupEvents = 13;

enum class GroupAction : unsigned char {
    unset,       ///< a hole in the table; a test proves there is none
    none,        ///< the state may change, and nothing else happens
    spawn,       ///< start the workers
    settle,      ///< wait for the failure that made this worker lose its peer
    fail,        ///< the round's failure: report it to the job, stop the workers
    stop,        ///< send the stop signal; the grace begins
    kill,        ///< SIGKILL to all workers and to their descendants
    clear,       ///< sweep and drain
    finish,      ///< report the result of the round to the job
    impossible,  ///< the event violates an invariant of the state machine
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
