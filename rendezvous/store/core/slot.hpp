#pragma once

#include <cstdint>

namespace dlaunch::store {

/// A connection's index in the tables of a store: small, and reused after the connection has closed.
using Slot = std::uint32_t;

}  // namespace dlaunch::store
