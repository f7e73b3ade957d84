#pragma once
/// Finds the accelerators of this node in the kernel's files. Vendors' libraries take long to load, and not every node
/// has them: only NVIDIA's is used, where its driver shows no files.

#include <string>
#include <utility>
#include <vector>

#include "agent/binding/visibility.hpp"

namespace dlaunch::agent {

class DeviceFinder {
public:
    /// `root` stands before every path: a tree of a test.
    explicit DeviceFinder(std::string root = {}) : root_(std::move(root)) {}

    /// A vendor's devices that this user may open, in the order of their numbers. `variable` decides how Intel's tiles
    /// count, and whether NVIDIA's UUIDs are needed.
    [[nodiscard]] std::vector<Device> all(Vendor vendor, const VariableLookup& variable) const;

    /// The devices of all() that a program sees.
    [[nodiscard]] std::vector<Device> visible(Vendor vendor, const VariableLookup& variable) const {
        return visible_devices(vendor, all(vendor, variable), variable);
    }

    /// The operating system's NUMA node of each device that a program sees, -1 where it is unknown: of the first vendor
    /// that has any.
    [[nodiscard]] std::vector<int> numa_nodes(const VariableLookup& variable) const;

private:
    [[nodiscard]] std::vector<Device> nvidia(const VariableLookup& variable) const;
    [[nodiscard]] std::vector<Device> amd() const;
    [[nodiscard]] std::vector<Device> intel(const VariableLookup& variable) const;
    [[nodiscard]] std::vector<Device> habana() const;
    [[nodiscard]] std::vector<Device> ascend() const;

    [[nodiscard]] std::string path(const std::string& below) const { return root_ + below; }
    [[nodiscard]] bool may_open(const std::string& device) const;

    std::string root_;
};

inline constexpr Vendor kVendors[] = {Vendor::nvidia, Vendor::amd, Vendor::intel, Vendor::habana, Vendor::ascend};

}  // namespace dlaunch::agent
