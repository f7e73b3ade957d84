#pragma once

#include <cstdint>

namespace dlaunch::base {

/// 64 bits from getrandom(2); from clock and pid where a sandbox refuses it. Different in every process, no secret.
[[nodiscard]] std::uint64_t random_number();

}  // namespace dlaunch::base
