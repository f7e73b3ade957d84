/// Where each driver lists its devices:
///   NVIDIA   /proc/driver/nvidia/gpus/ADDRESS/information
///   AMD      /sys/class/kfd/kfd/topology/nodes/N/properties; processors are nodes, too, without SIMD units
///   Intel    /sys/class/drm/renderDN/device, of the drivers i915 and xe; integrated GPUs do not count
///   Habana   /sys/class/accel/accelN, beside devices of other makers; /sys/class/habanalabs/hlN in older kernels
///   Ascend   /dev/davinciN
/// In a container, /sys shows all devices of the host, and /dev only those of the container.

#include "agent/binding/devices.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "agent/binding/gpus.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHabanaPci = "0x1da3";
constexpr std::string_view kIntegratedGpu = "0000:00:02.0";  // Intel's, on every machine that has one

/// The number of a name "<prefix>N"; none for other names.
std::optional<int> number_after(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return std::nullopt;
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + prefix.size(), end, number);
    return error == std::errc{} && at == end && number >= 0 ? std::optional(number) : std::nullopt;
}

/// The numbers of the entries "<prefix>N" of a folder, ascending. Empty if the folder cannot be read.
std::vector<int> numbers_in(const std::string& folder, std::string_view prefix) {
    std::vector<int> numbers;
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
        if (const auto number = number_after(at->path().filename().native(), prefix)) numbers.push_back(*number);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::string line_of(const std::string& path) {
    const std::string text = base::text_of(path);
    return std::string(base::trimmed(std::string_view(text).substr(0, text.find('\n'))));
}

std::optional<int> number_in(const std::string& path) { return number_after(line_of(path), ""); }

/// The name of what a symbolic link points to: the address of a device, the name of a driver.
std::string target_of(const std::string& link) {
    std::error_code failed;
    return fs::read_symlink(link, failed).filename();
}

/// "NAME VALUE" in each line.
std::map<std::string, std::uint64_t> properties_of(const std::string& path) {
    std::map<std::string, std::uint64_t> properties;
    const std::string text = base::text_of(path);
    for (const std::string_view line : base::split(text, '\n')) {
        const std::size_t blank = std::min(line.find(' '), line.size());
        const std::string_view value = base::trimmed(line.substr(blank));
        std::uint64_t number = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc{})
            properties.emplace(line.substr(0, blank), number);
    }
    return properties;
}

/// A GPU in the processor has neither an address of its own nor memory.
bool is_integrated(const std::string& device) {
    std::error_code none;
    return target_of(device) == kIntegratedGpu && !fs::exists(device + "/tile0/physical_vram_size_bytes", none) &&
           !fs::exists(device + "/lmem_total_bytes", none);
}

std::size_t tiles_of(const std::string& device, const std::string& driver) {
    std::size_t tiles = 0;
    if (driver == "xe") tiles = numbers_in(device, "tile").size();
    if (driver == "i915")
        for (const int card : numbers_in(device + "/drm", "card"))
            tiles = numbers_in(fmt::format("{}/drm/card{}/gt", device, card), "gt").size();
    return std::max<std::size_t>(tiles, 1);
}

}  // namespace

bool DeviceFinder::may_open(const std::string& device) const {
    return ::access(path(device).c_str(), R_OK | W_OK) == 0;
}

std::vector<Device> DeviceFinder::all(Vendor vendor, const VariableLookup& variable) const {
    switch (vendor) {
        case Vendor::nvidia: return nvidia(variable);
        case Vendor::amd: return amd();
        case Vendor::intel: return intel(variable);
        case Vendor::habana: return habana();
        case Vendor::ascend: return ascend();
    }
    return {};
}

/// Addresses sort as NVML counts. The driver knows a UUID only when the GPU has been in use since it was loaded.
std::vector<Device> DeviceFinder::nvidia(const VariableLookup& variable) const {
    const std::string folder = path("/proc/driver/nvidia/gpus");
    std::vector<std::string> addresses;
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
        addresses.push_back(at->path().filename());
    std::sort(addresses.begin(), addresses.end());
    std::vector<Device> devices;
    for (const std::string& address : addresses)
        if (auto device = nvidia_device(base::text_of(folder + "/" + address + "/information")))
            if (may_open(fmt::format("/dev/nvidia{}", device->number))) {
                device->pci_address = address;
                devices.push_back(std::move(*device));
            }
    const bool by_uuid = variable("CUDA_VISIBLE_DEVICES").value_or("").find("GPU-") != std::string::npos;
    const bool lacks_uuid = by_uuid && std::any_of(devices.begin(), devices.end(),
                                                   [](const Device& device) { return device.uuid.empty(); });
    const bool has_driver = may_open("/dev/nvidiactl") || may_open("/dev/dxg");
    if (!has_driver || (!addresses.empty() && !lacks_uuid)) return devices;
    return nvml_devices();
}

std::vector<Device> DeviceFinder::amd() const {
    if (!may_open("/dev/kfd")) return {};
    const std::string nodes = path("/sys/class/kfd/kfd/topology/nodes");
    std::vector<Device> devices;
    for (const int node : numbers_in(nodes, "")) {
        // Empty for a device that the container may not use: the kernel refuses the read.
        auto properties = properties_of(fmt::format("{}/{}/properties", nodes, node));
        const int minor = static_cast<int>(properties["drm_render_minor"]);
        if (properties["simd_count"] == 0 || !may_open(fmt::format("/dev/dri/renderD{}", minor))) continue;
        const std::uint64_t location = properties["location_id"];
        devices.push_back({.number = minor,
                           .uuid = fmt::format("GPU-{:016x}", properties["unique_id"]),
                           .pci_address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", properties["domain"],
                                                      location >> 8 & 0xff, location >> 3 & 0x1f, location & 7)});
    }
    return devices;
}

/// A tile is a device of its own, unless ZE_FLAT_DEVICE_HIERARCHY joins those of a card.
std::vector<Device> DeviceFinder::intel(const VariableLookup& variable) const {
    const bool joined = variable("ZE_FLAT_DEVICE_HIERARCHY") == "COMPOSITE";
    std::vector<Device> devices;
    for (const int minor : numbers_in(path("/sys/class/drm"), "renderD")) {
        const std::string device = path(fmt::format("/sys/class/drm/renderD{}/device", minor));
        const std::string driver = target_of(device + "/driver");
        if ((driver != "i915" && driver != "xe") || is_integrated(device)) continue;
        if (!may_open(fmt::format("/dev/dri/renderD{}", minor))) continue;
        devices.insert(devices.end(), joined ? 1 : tiles_of(device, driver),
                       {.number = minor, .pci_address = target_of(device)});
    }
    return devices;
}

std::vector<Device> DeviceFinder::habana() const {
    std::vector<Device> devices;
    const auto add = [&](const std::string& device, const std::string& node, int number) {
        if (!may_open(node)) return;
        devices.push_back({.number = number,
                           .module_id = number_in(device + "/module_id").value_or(number),
                           .pci_address = target_of(device)});
    };
    for (const int number : numbers_in(path("/sys/class/accel"), "accel")) {
        const std::string device = path(fmt::format("/sys/class/accel/accel{}/device", number));
        if (line_of(device + "/vendor") == kHabanaPci) add(device, fmt::format("/dev/accel/accel{}", number), number);
    }
    if (!devices.empty()) return devices;
    for (const int number : numbers_in(path("/sys/class/habanalabs"), "hl"))
        add(path(fmt::format("/sys/class/habanalabs/hl{}/device", number)), fmt::format("/dev/hl{}", number), number);
    return devices;
}

std::vector<Device> DeviceFinder::ascend() const {
    std::vector<Device> devices;
    for (const int number : numbers_in(path("/dev"), "davinci"))
        if (may_open(fmt::format("/dev/davinci{}", number))) devices.push_back({.number = number});
    return devices;
}

std::vector<int> DeviceFinder::numa_nodes(const VariableLookup& variable) const {
    for (const Vendor vendor : kVendors) {
        std::vector<int> nodes;
        for (const Device& device : visible(vendor, variable))
            nodes.push_back(
                device.pci_address.empty()
                    ? -1
                    : number_in(path("/sys/bus/pci/devices/" + device.pci_address + "/numa_node")).value_or(-1));
        if (!nodes.empty()) return nodes;
    }
    return {};
}

}  // namespace dlaunch::agent
