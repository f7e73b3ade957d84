#include "agent/group/table.hpp"

namespace dlaunch::agent {
namespace {

using A = GroupAction;
using S = GroupState;

constexpr GroupCell kNever{A::impossible, S::over};

}  // namespace

// One row a state, one column an event, in the order of the enumerations:
//   assigned, started, spawn_failed, ended_well, ended_badly,
//   none_left, stop_asked, kill_asked, grace_over, cleared
const GroupTable kGroupTable = {{
    // idle: before the first round, between two, while a restart backs off
    {{{A::spawn, S::starting},
      kNever,
      kNever,
      kNever,
      kNever,
      kNever,
      {A::end, S::over},
      {A::end, S::over},
      {A::ignore, S::idle},
      kNever}},
    // starting: workers are being started, some may have ended already
    {{kNever,
      {A::note, S::running},
      {A::fail, S::stopping},
      {A::note, S::starting},
      {A::fail, S::stopping},
      kNever,
      {A::stop, S::stopping},
      {A::kill, S::killing},
      {A::ignore, S::starting},
      kNever}},
    // running
    {{kNever,
      kNever,
      kNever,
      {A::note, S::running},
      {A::fail, S::stopping},
      {A::clear, S::clearing},
      {A::stop, S::stopping},
      {A::kill, S::killing},
      {A::ignore, S::running},
      kNever}},
    // stopping: all have been asked; who ends now is a victim
    {{kNever,
      kNever,
      {A::note, S::stopping},
      {A::note, S::stopping},
      {A::note, S::stopping},
      {A::clear, S::clearing},
      {A::resign, S::stopping},
      {A::kill, S::killing},
      {A::kill, S::killing},
      kNever}},
    // killing: SIGKILL is on its way
    {{kNever,
      kNever,
      {A::note, S::killing},
      {A::note, S::killing},
      {A::note, S::killing},
      {A::clear, S::clearing},
      {A::resign, S::killing},
      {A::ignore, S::killing},
      {A::ignore, S::killing},
      kNever}},
    // clearing: no worker lives
    {{kNever,
      kNever,
      kNever,
      kNever,
      kNever,
      kNever,
      {A::resign, S::clearing},
      {A::resign, S::clearing},
      {A::ignore, S::clearing},
      {A::finish, S::idle}}},
    // over: the job has ended for this node; a round that was on its way to us is over before it began
    {{{A::finish, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over},
      {A::ignore, S::over}}},
}};

std::string_view name(GroupState state) {
    constexpr std::array<std::string_view, kGroupStates> kNames{"idle",    "starting", "running", "stopping",
                                                                "killing", "clearing", "over"};
    return kNames[static_cast<std::size_t>(state)];
}

std::string_view name(GroupEvent event) {
    constexpr std::array<std::string_view, kGroupEvents> kNames{
        "assigned",  "started",    "spawn_failed", "ended_well", "ended_badly",
        "none_left", "stop_asked", "kill_asked",   "grace_over", "cleared"};
    return kNames[static_cast<std::size_t>(event)];
}

}  // namespace dlaunch::agent
