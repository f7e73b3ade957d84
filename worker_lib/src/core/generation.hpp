#pragma once

namespace dlaunch::worker {

/// Differs between a process and the copies that fork() makes of it: these have its groups, and none of the threads
/// that carry their calls.
[[nodiscard]] unsigned generation();

}  // namespace dlaunch::worker
