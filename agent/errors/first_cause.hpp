#pragma once
/// Chooses the first cause among the failures of a round by evidence, not by the order of exits. No I/O, no clock.
///
/// A rank that closes its connections before it exits makes its peers fail, and exit, before it does. Therefore a crash
/// or an error of a rank's own counts more than a lost peer, however late it comes. A rank that exits without an error
/// (a traceback, a last line "error: ..."), or states another one later, has lost a peer if another rank had just
/// stated one and did not survive it. If all failures are lost peers, the cause is the rank at which the names in their
/// messages end, or one that had shown its error and was stopped; else a rank that lost a server while most lost a
/// peer, else a rank that exited with 0 while its peers needed it, else the earliest exit of a rank whose messages are
/// unknown, else the earliest exit.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// Sets the failure's strength by itself (crash, own_error, unread, lost_peer or none), and the ranks that it names.
void weigh(Failure& failure);

/// The longest time from an exit with 0 to the failures of its peers: a rank that exited before had finished its part.
inline constexpr std::chrono::milliseconds kEarlyExit{1000};

/// Moves the first cause to the front, sets its `because`, and returns its strength. All were weighed. `failures` may
/// contain workers that are no failures (stopped, or exited with 0): one of them becomes the cause only as a rank that
/// is named or that exited early. The other failures keep their order. `finished`: number of ranks of all nodes that
/// exited with 0, if it is known.
Strength put_first_cause_first(std::vector<Failure>& failures, std::int64_t finished = 0);

/// A rank that is known only by its name in messages of other ranks.
[[nodiscard]] bool is_of_another_node(const Failure& failure);

/// Removes the exits with 0 that are no cause.
void drop_early_exits(std::vector<Failure>& failures);

/// dlaunch's exit status for these failures, whose first is the cause. A cause that did not fail by itself has none:
/// then the status of the first failure counts.
[[nodiscard]] int exit_status_of(const std::vector<Failure>& failures);

}  // namespace dlaunch::agent
