#pragma once
/// The part of the text report about ranks that dlaunch ended at a time limit or for a hang.

#include <cstddef>
#include <vector>

#include "agent/errors/report_lines.hpp"

namespace dlaunch::agent {

/// The time limit, or a timer of the worker's own, has ended it.
[[nodiscard]] bool is_late(const Failure& failure);

/// Where each rank was then, in at most `most` lines, the first without an indent.
[[nodiscard]] Lines last_lines(std::vector<const Failure*> failures, std::size_t most);

/// The innermost frames of the stack that the fewest ranks have, below their numbers, and where the other ranks were;
/// in at most `most` lines. Empty: there is no stack, or the screen has just shown it.
[[nodiscard]] Lines late_stack(const std::vector<const Failure*>& causes, std::size_t most);

}  // namespace dlaunch::agent
