#pragma once

namespace dlaunch::worker {

/// Number of forks between the program's start and this process. A forked child inherits its parent's groups but none
/// of their threads; a different generation identifies such a copy.
[[nodiscard]] unsigned generation();

}  // namespace dlaunch::worker
