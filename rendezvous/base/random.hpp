#pragma once

#include <cstdint>

namespace dlaunch::base {

/// 64 bits from getrandom(2), or from clock and pid if a sandbox refuses it. Unique per process, but no secret.
[[nodiscard]] std::uint64_t random_number();

}  // namespace dlaunch::base
