#pragma once

#include <string>

#include "worker_lib/src/hierarchy/levels.hpp"

namespace dlaunch::worker::hierarchy {

/// One call of one rank; returns when this rank is done, or throws Error.
void run_collective(Levels& levels, const Call& call, const GroupInfo& group);

}  // namespace dlaunch::worker::hierarchy
