#include "agent/binding/gpus.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "agent/binding/library.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

namespace {

/// Declarations from <nvml.h>, which is not a build dependency. Layout: nvmlPciInfo_t, version 3.
struct PciInfo {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};
using Handle = void*;

struct Nvml {
    Library library{"libnvidia-ml.so.1"};
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, Handle*) = nullptr;
    int (*uuid)(Handle, char*, unsigned) = nullptr;
    int (*pci)(Handle, PciInfo*) = nullptr;

    Nvml() {
        library.load(init, "nvmlInit_v2");
        library.load(shutdown, "nvmlShutdown");
        library.load(count, "nvmlDeviceGetCount_v2");
        library.load(handle, "nvmlDeviceGetHandleByIndex_v2");
        library.load(uuid, "nvmlDeviceGetUUID");
        library.load(pci, "nvmlDeviceGetPciInfo_v3");
    }
};

// A library lacks none of its functions, see Library::load(): NOLINTBEGIN(clang-analyzer-core.CallAndMessage)

Device describe(const Nvml& nvml, unsigned index) {
    Handle handle = nullptr;
    if (nvml.handle(index, &handle) != 0) return {};
    Device gpu{.number = static_cast<int>(index)};
    std::array<char, 96> uuid{};
    if (nvml.uuid(handle, uuid.data(), static_cast<unsigned>(uuid.size() - 1)) == 0) gpu.uuid = uuid.data();
    PciInfo pci{};
    if (nvml.pci(handle, &pci) == 0)
        gpu.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    return gpu;
}

/// The value of "NAME: VALUE" in one of the lines.
std::optional<std::string_view> field(std::string_view text, std::string_view name) {
    for (const std::string_view line : base::split(text, '\n')) {
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && base::trimmed(line.substr(0, colon)) == name)
            return base::trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

}  // namespace

std::optional<Device> nvidia_device(std::string_view information) {
    const std::string_view minor = field(information, "Device Minor").value_or("");
    int number = 0;
    if (std::from_chars(minor.data(), minor.data() + minor.size(), number).ec != std::errc{}) return std::nullopt;
    if (field(information, "GPU Excluded") == "Yes") return std::nullopt;
    Device device{.number = number};
    const std::string_view uuid = field(information, "GPU UUID").value_or("");
    if (uuid.find('?') == std::string_view::npos) device.uuid = uuid;
    return device;
}

std::vector<Device> nvml_devices() {
    const Nvml nvml;
    if (!nvml.library || nvml.init() != 0) return {};
    std::vector<Device> gpus;
    unsigned count = 0;
    if (nvml.count(&count) != 0) count = 0;
    gpus.reserve(count);
    for (unsigned i = 0; i < count; ++i) gpus.push_back(describe(nvml, i));
    nvml.shutdown();
    return gpus;
}

// NOLINTEND(clang-analyzer-core.CallAndMessage)

}  // namespace dlaunch::agent
