#pragma once

#include <string>
#include <vector>

namespace dlaunch::launcher {

/// `dlaunch check`: prints the address that this node would advertise, why, and the answer of the endpoint. Returns the
/// exit status: 0 if the rendezvous would work.
[[nodiscard]] int run_check(const std::vector<std::string>& arguments);

}  // namespace dlaunch::launcher
