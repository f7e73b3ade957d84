#include "agent/binding/visibility.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

namespace {

using Text = std::optional<std::string>;

/// A number from 0 that fills the whole text.
std::optional<int> number_of(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
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

/// CUDA's rules, which ROCm's runtimes follow.
std::vector<Device> listed(const std::vector<Device>& devices, const Text& list) {
    std::vector<std::string> uuids;
    uuids.reserve(devices.size());
    for (const Device& device : devices) uuids.push_back(device.uuid);
    std::vector<Device> chosen;
    for (const int index : visible_gpus(list ? std::optional<std::string_view>(*list) : std::nullopt, uuids))
        chosen.push_back(index < 0 ? Device{} : devices[static_cast<std::size_t>(index)]);
    return chosen;
}

/// Level Zero: a mask, whose order has no meaning. Entries are DEVICE or DEVICE.TILE; others have no effect.
std::vector<Device> masked(const std::vector<Device>& devices, const Text& mask) {
    if (!mask || mask->empty() || *mask == "default") return devices;
    std::set<int> wanted;
    for (const std::string& entry : device_entries(*mask))
        if (const auto index = number_of(std::string_view(entry).substr(0, entry.find('.')))) wanted.insert(*index);
    std::vector<Device> chosen;
    for (const int index : wanted)
        if (index < static_cast<int>(devices.size())) chosen.push_back(devices[static_cast<std::size_t>(index)]);
    return chosen;
}

/// Habana: the devices whose `member` is in the list; all without a list.
std::vector<Device> with(const std::vector<Device>& devices, int Device::*member, const Text& list) {
    if (!list || list->empty() || *list == "all") return devices;
    std::set<int> wanted;
    for (const std::string& entry : device_entries(*list))
        if (const auto number = number_of(entry)) wanted.insert(*number);
    std::vector<Device> chosen;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(chosen),
                 [&](const Device& device) { return wanted.contains(device.*member); });
    return chosen;
}

/// Ascend: numbers in ascending order. Any other text, a blank too, ends the list.
std::vector<Device> ascending(const std::vector<Device>& devices, const Text& list) {
    if (!list) return devices;
    std::vector<Device> chosen;
    int last = -1;
    for (const std::string_view entry : base::split(*list, ',')) {
        const auto index = number_of(entry);
        if (!index || *index <= last || *index >= static_cast<int>(devices.size())) break;
        last = *index;
        chosen.push_back(devices[static_cast<std::size_t>(last)]);
    }
    return chosen;
}

Text either(Text first, Text second) { return first ? std::move(first) : std::move(second); }

}  // namespace

std::string_view visibility_variable(Vendor vendor) {
    switch (vendor) {
        case Vendor::nvidia: return "CUDA_VISIBLE_DEVICES";
        case Vendor::amd: return "HIP_VISIBLE_DEVICES";
        case Vendor::intel: return "ZE_AFFINITY_MASK";
        case Vendor::habana: return "HABANA_VISIBLE_MODULES";
        case Vendor::ascend: return "ASCEND_RT_VISIBLE_DEVICES";
    }
    return {};
}

std::vector<std::string_view> set_visibility_variables(Vendor vendor) {
    if (vendor == Vendor::amd) return {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"};
    return {visibility_variable(vendor)};
}

std::vector<std::string_view> visibility_variables(Vendor vendor) {
    if (vendor == Vendor::amd) return {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
    return {visibility_variable(vendor)};
}

std::optional<Visibility> visibility_in_effect(Vendor vendor, const VariableLookup& variable) {
    for (const std::string_view name : visibility_variables(vendor))
        if (auto value = variable(name)) return Visibility{name, std::move(*value)};
    return std::nullopt;
}

std::vector<std::string> device_entries(std::string_view list) {
    std::vector<std::string> entries;
    for (std::string_view entry : base::split(list, ',')) {
        entry = base::trimmed(entry);
        if (!entry.empty()) entries.emplace_back(entry);
    }
    return entries;
}

Variables single_device(Vendor vendor, const VariableLookup& variable, int local_rank) {
    Text list = variable(visibility_variable(vendor));
    // A list of ROCr's, the layer below HIP, stays: HIP counts the devices that ROCr has left.
    if (vendor == Vendor::amd) list = either(std::move(list), variable("CUDA_VISIBLE_DEVICES"));
    std::string device = std::to_string(local_rank);
    if (list && !list->empty()) {
        const auto entries = device_entries(*list);
        const auto index = static_cast<std::size_t>(local_rank);
        device = index < entries.size() ? entries[index] : std::string();
    }
    Variables set;
    for (const std::string_view name : set_visibility_variables(vendor)) set.emplace_back(name, device);
    return set;
}

std::vector<Device> visible_devices(Vendor vendor, const std::vector<Device>& devices, const VariableLookup& variable) {
    switch (vendor) {
        case Vendor::nvidia: return listed(devices, variable("CUDA_VISIBLE_DEVICES"));
        case Vendor::amd:
            return listed(listed(devices, variable("ROCR_VISIBLE_DEVICES")),
                          either(variable("HIP_VISIBLE_DEVICES"), variable("CUDA_VISIBLE_DEVICES")));
        case Vendor::intel: return masked(devices, variable("ZE_AFFINITY_MASK"));
        case Vendor::habana:
            return with(with(devices, &Device::number, variable("HABANA_VISIBLE_DEVICES")), &Device::module_id,
                        variable("HABANA_VISIBLE_MODULES"));
        case Vendor::ascend: return ascending(devices, variable("ASCEND_RT_VISIBLE_DEVICES"));
    }
    return {};
}

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

}  // namespace dlaunch::agent
