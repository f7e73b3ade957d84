#pragma once

#include <chrono>
#include <string>

namespace dlaunch::worker {

/// Asks the agent to kill this process after this time, unless the deadline of the same name is set again or cleared.
/// Without an agent there is no effect. Any thread.
void set_deadline(const std::string& name, std::chrono::milliseconds after);
void clear_deadline(const std::string& name);

}  // namespace dlaunch::worker
