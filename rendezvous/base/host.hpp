#pragma once
/// Facts about this process's host and environment.

#include <string>
#include <utility>
#include <vector>

namespace dlaunch::base {

/// gethostname(2).
[[nodiscard]] std::string host_name();

/// Processors that this process may run on: the size of its affinity mask, which may exceed a cpu_set_t.
[[nodiscard]] int usable_cores();
/// Their numbers, in ascending order.
[[nodiscard]] std::vector<int> usable_core_numbers();

/// This process's environment as NAME, value pairs, in its order; entries without `=` are left out.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment();

}  // namespace dlaunch::base
