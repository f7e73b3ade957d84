#pragma once
/// The variables by which a program sees only some of a node's accelerators. Pure functions.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/plan.hpp"

namespace dlaunch::agent {

/// The value of a variable for the workers; none: unset.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

/// An accelerator of this node.
struct Device {
    int number = 0;           ///< of its device file: 3 for /dev/accel/accel3
    int module_id = 0;        ///< Habana: its place in the machine
    std::string uuid;         ///< "GPU-..."; empty: unknown
    std::string pci_address;  ///< as below /sys/bus/pci/devices; empty: unknown

    bool operator==(const Device&) const = default;
};

/// The variable by which a program of this vendor's runtime chooses among the devices of its node, and which
/// --virtual-local-rank sets.
[[nodiscard]] std::string_view visibility_variable(Vendor vendor);

/// The variables that dlaunch sets alike: for AMD also CUDA's, which HIP reads and some programs demand to be equal.
[[nodiscard]] std::vector<std::string_view> set_visibility_variables(Vendor vendor);

/// All variables by which such a program chooses, in order of precedence.
[[nodiscard]] std::vector<std::string_view> visibility_variables(Vendor vendor);

/// The variable that chooses among a vendor's devices, and its value.
struct Visibility {
    std::string_view variable;
    std::string value;
};
/// None if no such variable is set.
[[nodiscard]] std::optional<Visibility> visibility_in_effect(Vendor vendor, const VariableLookup& variable);

/// The entries of a list of devices, without blanks around them and without empty ones.
[[nodiscard]] std::vector<std::string> device_entries(std::string_view list);

/// The variables for a worker that sees a single device: the entry of the node's list at the local rank, else the
/// local rank itself. No value if the list is too short.
[[nodiscard]] Variables single_device(Vendor vendor, const VariableLookup& variable, int local_rank);

/// The devices that a program sees, in its order. `devices`: all of the vendor, in the order of their numbers. A slice
/// of a GPU (MIG) is a device without an address.
[[nodiscard]] std::vector<Device> visible_devices(Vendor vendor, const std::vector<Device>& devices,
                                                  const VariableLookup& variable);

/// The GPUs that a CUDA program sees, in its order: indices into `uuids`, -1 for a MIG slice. Rules of
/// CUDA_VISIBLE_DEVICES (CUDA C++ programming guide, environment variables): unset means all; the first invalid entry
/// ends the list; a repeated entry makes it empty.
[[nodiscard]] std::vector<int> visible_gpus(std::optional<std::string_view> visible,
                                            const std::vector<std::string>& uuids);

}  // namespace dlaunch::agent
