#pragma once

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Runs all ready callbacks, and returns.
void turn(base::Loop& loop);
/// Waits for one callback that is not ready yet.
void await_callback(base::Loop& loop);

}  // namespace dlaunch::agent
