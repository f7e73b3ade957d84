#pragma once

namespace dlaunch::worker {

/// Makes C's stdout, and std::cout with it, write whole lines when they end, as on a terminal. A full buffer would keep
/// them from the log until the end, and lose them when the process is killed. An unbuffered stdout stays as it is.
void write_stdout_by_lines();

}  // namespace dlaunch::worker
