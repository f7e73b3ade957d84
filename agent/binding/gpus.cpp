#include "agent/binding/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "agent/binding/binding.hpp"
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
using Device = void*;

struct Nvml {
    Library library{"libnvidia-ml.so.1"};
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, Device*) = nullptr;
    int (*uuid)(Device, char*, unsigned) = nullptr;
    int (*pci)(Device, PciInfo*) = nullptr;

    Nvml() {
        library.load(init, "nvmlInit_v2");
        library.load(shutdown, "nvmlShutdown");
        library.load(count, "nvmlDeviceGetCount_v2");
        library.load(handle, "nvmlDeviceGetHandleByIndex_v2");
        library.load(uuid, "nvmlDeviceGetUUID");
        library.load(pci, "nvmlDeviceGetPciInfo_v3");
    }
};

struct Gpu {
    std::string uuid;
    std::string pci_address;  ///< as below /sys/bus/pci/devices
};

// A library lacks none of its functions, see Library::load(): NOLINTBEGIN(clang-analyzer-core.CallAndMessage)

Gpu describe(const Nvml& nvml, unsigned index) {
    Device device = nullptr;
    if (nvml.handle(index, &device) != 0) return {};
    Gpu gpu;
    std::array<char, 96> uuid{};
    if (nvml.uuid(device, uuid.data(), static_cast<unsigned>(uuid.size() - 1)) == 0) gpu.uuid = uuid.data();
    PciInfo pci{};
    if (nvml.pci(device, &pci) == 0)
        gpu.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    return gpu;
}

std::vector<Gpu> all_gpus() {
    const Nvml nvml;
    if (!nvml.library || nvml.init() != 0) return {};
    std::vector<Gpu> gpus;
    unsigned count = 0;
    if (nvml.count(&count) != 0) count = 0;
    gpus.reserve(count);
    for (unsigned i = 0; i < count; ++i) gpus.push_back(describe(nvml, i));
    nvml.shutdown();
    return gpus;
}

// NOLINTEND(clang-analyzer-core.CallAndMessage)

std::vector<int> visible_of(std::optional<std::string_view> visible, const std::vector<Gpu>& gpus) {
    std::vector<std::string> uuids;
    uuids.reserve(gpus.size());
    for (const Gpu& gpu : gpus) uuids.push_back(gpu.uuid);
    return visible_gpus(visible, uuids);
}

/// The GPU of an entry: a number, or the prefix of one GPU's UUID; -1: a MIG slice; none: no such GPU.
std::optional<int> named(std::string_view entry, const std::vector<std::string>& uuids) {
    if (entry.starts_with("MIG-")) return -1;
    if (entry.starts_with("GPU-")) {
        std::optional<int> found;
        for (std::size_t i = 0; i < uuids.size(); ++i) {
            if (!uuids[i].starts_with(entry)) continue;
            if (found) return std::nullopt;
            found = static_cast<int>(i);
        }
        return found;
    }
    // Ignores characters after the digits, like CUDA.
    int index = 0;
    const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
    if (error != std::errc{} || index < 0 || index >= static_cast<int>(uuids.size())) return std::nullopt;
    return index;
}

}  // namespace

std::vector<int> visible_gpus(std::optional<std::string_view> visible, const std::vector<std::string>& uuids) {
    std::vector<int> chosen;
    if (!visible) {
        for (std::size_t i = 0; i < uuids.size(); ++i) chosen.push_back(static_cast<int>(i));
        return chosen;
    }
    std::string_view rest = *visible;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const auto gpu = named(base::trimmed(rest.substr(0, comma)), uuids);
        if (!gpu) break;
        if (*gpu >= 0 && std::count(chosen.begin(), chosen.end(), *gpu) > 0) return {};
        chosen.push_back(*gpu);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return chosen;
}

std::vector<int> gpu_numa_nodes(std::optional<std::string_view> visible) {
    const std::vector<Gpu> gpus = all_gpus();
    std::vector<int> nodes;
    for (const int index : visible_of(visible, gpus)) {
        int node = -1;
        if (index >= 0) {
            std::ifstream file("/sys/bus/pci/devices/" + gpus[static_cast<std::size_t>(index)].pci_address +
                               "/numa_node");
            if (!(file >> node)) node = -1;
        }
        nodes.push_back(node);
    }
    return nodes;
}

int count_gpus(std::optional<std::string> visible) {
    return static_cast<int>(
        visible_of(visible ? std::optional<std::string_view>(*visible) : std::nullopt, all_gpus()).size());
}

}  // namespace dlaunch::agent
