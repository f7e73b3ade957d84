#pragma once

#include <cstdint>

namespace dlaunch::base {

/// One accepted connection of a server; never reused.
using ConnectionId = std::uint64_t;

}  // namespace dlaunch::base
