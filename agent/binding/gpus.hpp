#pragma once
/// NVIDIA's descriptions of GPUs: a file of the driver, and NVML (dlopen), which creates no CUDA context.

#include <optional>
#include <string_view>
#include <vector>

#include "agent/binding/visibility.hpp"

namespace dlaunch::agent {

/// Parses /proc/driver/nvidia/gpus/ADDRESS/information: minor number, and UUID unless the driver does not know it yet.
/// None for other text, and for a GPU that the driver excludes.
[[nodiscard]] std::optional<Device> nvidia_device(std::string_view information);

/// The GPUs that NVML lists, in its order. Empty without the library.
[[nodiscard]] std::vector<Device> nvml_devices();

}  // namespace dlaunch::agent
