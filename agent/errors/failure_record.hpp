#pragma once
/// Failures on their way from one node to all others: what one agent knows, as text that another reads back.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// Never longer than `limit`: of what is long, the least needed goes first (raw error files, last words, call stacks).
[[nodiscard]] std::string pack_failures(std::vector<Failure> failures, std::size_t limit);

/// Nothing when it is not what pack_failures() makes.
[[nodiscard]] std::optional<std::vector<Failure>> unpack_failures(std::string_view text);

/// Equal for failures that are alike, whatever their pid and time.
[[nodiscard]] std::string kind_of(const Failure& failure);

}  // namespace dlaunch::agent
