#pragma once
/// The cores to which srun has bound the tasks of a node. No I/O.

#include <optional>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"

namespace dlaunch::launcher {

/// The numbers of the bits that are set: "0x1f" is 0 to 4. None: another form, or more than 65536 bits.
[[nodiscard]] std::optional<std::vector<int>> parse_cpu_mask(std::string_view text);

/// All cores of the `tasks` tasks on this node. The task with the agent is bound to its own ones, the agent's workers
/// stand for all tasks. Empty: srun has not bound the tasks one by one.
[[nodiscard]] std::vector<int> cores_of_tasks(const agent::Host& host, int tasks);

}  // namespace dlaunch::launcher
