#pragma once
/// The GPUs of this node as CUDA programs would number them. From NVML (dlopen), which makes no CUDA context.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Which of the GPUs with these UUIDs a CUDA program sees, in its order: indices into `uuids`, -1 for a MIG slice.
/// The rules of CUDA_VISIBLE_DEVICES (CUDA C++ programming guide, environment variables): none means all; the first
/// entry that names nothing ends the list; an entry that comes twice makes it empty.
[[nodiscard]] std::vector<int> visible_gpus(std::optional<std::string_view> visible,
                                            const std::vector<std::string>& uuids);

/// The operating system's NUMA node of each visible GPU, -1 where it is unknown. Empty without a driver.
[[nodiscard]] std::vector<int> gpu_numa_nodes(std::optional<std::string_view> visible);

}  // namespace dlaunch::agent
