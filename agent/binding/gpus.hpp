#pragma once
/// The GPUs of this node, numbered as in CUDA programs. From NVML (dlopen), which creates no CUDA context.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// The GPUs that a CUDA program sees, in its order: indices into `uuids`, -1 for a MIG slice. Rules of
/// CUDA_VISIBLE_DEVICES (CUDA C++ programming guide, environment variables): unset means all; the first invalid entry
/// ends the list; a repeated entry makes it empty.
[[nodiscard]] std::vector<int> visible_gpus(std::optional<std::string_view> visible,
                                            const std::vector<std::string>& uuids);

/// The operating system's NUMA node of each visible GPU, -1 where it is unknown. Empty without a driver.
[[nodiscard]] std::vector<int> gpu_numa_nodes(std::optional<std::string_view> visible);

}  // namespace dlaunch::agent
