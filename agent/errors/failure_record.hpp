#pragma once
/// Encodes an agent's failures as text, for reports on other nodes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// Never longer than `limit`: drops long parts, the least important first (raw error files, stderr tails, call stacks).
[[nodiscard]] std::string pack_failures(std::vector<Failure> failures, std::size_t limit);

/// None if the text is not from pack_failures().
[[nodiscard]] std::optional<std::vector<Failure>> unpack_failures(std::string_view text);

/// The same text for failures of the same kind, whatever their rank, pid and time.
[[nodiscard]] std::string kind_of(const Failure& failure);

}  // namespace dlaunch::agent
