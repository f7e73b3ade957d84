#pragma once

#include <cstdint>

namespace dlaunch::store {

/// A connection's place in the tables of a store: small, and free for another connection after the first is closed.
using Slot = std::uint32_t;

}  // namespace dlaunch::store
