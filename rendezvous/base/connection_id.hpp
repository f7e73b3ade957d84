#pragma once

#include <cstdint>

namespace dlaunch::base {

/// One accepted connection of a server; never used again for another.
using ConnectionId = std::uint64_t;

}  // namespace dlaunch::base
