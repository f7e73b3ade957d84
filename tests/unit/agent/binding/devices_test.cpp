#include "agent/binding/devices.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

/// A tree with the files of some devices.
class Machine {
public:
    void file(const std::string& path, const std::string& text = {}) const {
        const fs::path at = folder_.path() + path;
        fs::create_directories(at.parent_path());
        std::ofstream(at) << text;
    }
    void link(const std::string& path, const std::string& target) const {
        const fs::path at = folder_.path() + path;
        fs::create_directories(at.parent_path());
        fs::create_symlink(folder_.path() + target, at);
    }
    void remove(const std::string& path) const { fs::remove(folder_.path() + path); }
    void forbid(const std::string& path) const { fs::permissions(folder_.path() + path, fs::perms::none); }
    /// A device on the PCI bus, with its driver, linked from a folder of a class.
    void pci(const std::string& of_class, const std::string& address, const std::string& driver, int numa = -1) const {
        const std::string device = "/sys/devices/pci0000:00/" + address;
        file(device + "/numa_node", std::to_string(numa) + "\n");
        link("/sys/bus/pci/devices/" + address, device);
        link(device + "/driver", "/sys/bus/pci/drivers/" + driver);
        link(of_class + "/device", device);
    }
    [[nodiscard]] DeviceFinder finder() const { return DeviceFinder(folder_.path()); }
    [[nodiscard]] std::size_t count(Vendor vendor,
                                    const std::map<std::string, std::string, std::less<>>& set = {}) const {
        return finder()
            .visible(vendor,
                     [&](std::string_view name) {
                         const auto found = set.find(name);
                         return found == set.end() ? std::nullopt : std::optional(found->second);
                     })
            .size();
    }

private:
    TemporaryFolder folder_;
};

std::optional<std::string> nothing_set(std::string_view) { return std::nullopt; }

void add_nvidia(const Machine& machine) {
    machine.file("/dev/nvidiactl");
    for (const auto& [address, minor] : {std::pair("0000:1b:00.0", 1), std::pair("0000:05:00.0", 0)}) {
        machine.file(fmt::format("/proc/driver/nvidia/gpus/{}/information", address),
                     fmt::format("GPU UUID: \t GPU-{}{}\nDevice Minor: \t {}\n", minor, minor, minor));
        machine.file(fmt::format("/dev/nvidia{}", minor));
        machine.file(fmt::format("/sys/bus/pci/devices/{}/numa_node", address), fmt::format("{}\n", minor));
    }
}

TEST(FindDevices, NoneOnAnEmptyMachine) {
    const Machine machine;
    for (const Vendor vendor : kVendors) EXPECT_EQ(machine.count(vendor), 0U) << visibility_variable(vendor);
    EXPECT_TRUE(machine.finder().numa_nodes(nothing_set).empty());
}

TEST(FindDevices, OfNvidiaInTheOrderOfTheirAddresses) {
    const Machine machine;
    add_nvidia(machine);
    const auto devices = machine.finder().all(Vendor::nvidia, nothing_set);
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[0], (Device{.number = 0, .uuid = "GPU-00", .pci_address = "0000:05:00.0"}));
    EXPECT_EQ(machine.count(Vendor::nvidia, {{"CUDA_VISIBLE_DEVICES", "GPU-11"}}), 1U);
    EXPECT_EQ(machine.count(Vendor::nvidia, {{"CUDA_VISIBLE_DEVICES", ""}}), 0U);
    EXPECT_EQ(machine.finder().numa_nodes(nothing_set), (std::vector{0, 1}));
}

TEST(FindDevices, OfNvidiaOnlyWithADeviceFile) {
    const Machine machine;
    add_nvidia(machine);
    machine.remove("/dev/nvidia1");
    EXPECT_EQ(machine.count(Vendor::nvidia), 1U) << "another container's";
}

/// A node of the kernel's topology: a GPU, or with minor 0 a processor.
void kfd_node(const Machine& machine, int node, int minor) {
    machine.file(fmt::format("/sys/class/kfd/kfd/topology/nodes/{}/properties", node),
                 fmt::format("cpu_cores_count {}\nsimd_count {}\nlocation_id {}\ndomain 0\ndrm_render_minor {}\n"
                             "unique_id {}\n",
                             minor ? 0 : 64, minor ? 304 : 0, 0x6300 + 8 * node, minor, 0xabc0U + unsigned(node)));
    if (minor) machine.file(fmt::format("/dev/dri/renderD{}", minor));
}

void add_amd(const Machine& machine, int gpus) {
    machine.file("/dev/kfd");
    kfd_node(machine, 0, 0);
    for (int gpu = 0; gpu < gpus; ++gpu) kfd_node(machine, gpu + 1, 128 + gpu);
}

TEST(FindDevices, OfAmdAreTheNodesWithProcessingUnits) {
    const Machine machine;
    add_amd(machine, 10);
    const auto devices = machine.finder().all(Vendor::amd, nothing_set);
    ASSERT_EQ(devices.size(), 10U);
    EXPECT_EQ(devices[9], (Device{.number = 137, .uuid = "GPU-000000000000abca", .pci_address = "0000:63:0a.0"}));
    EXPECT_EQ(machine.count(Vendor::amd, {{"HIP_VISIBLE_DEVICES", "0,9"}}), 2U);
    EXPECT_EQ(machine.count(Vendor::amd, {{"ROCR_VISIBLE_DEVICES", "GPU-000000000000abca"}}), 1U);
}

TEST(FindDevices, OfAmdNeedTheDriversFileAndTheirOwn) {
    const Machine machine;
    add_amd(machine, 3);
    machine.file("/sys/class/kfd/kfd/topology/nodes/2/properties");  // the kernel refuses the read in a container
    machine.remove("/dev/dri/renderD130");
    EXPECT_EQ(machine.count(Vendor::amd), 1U);
    machine.remove("/dev/kfd");
    EXPECT_EQ(machine.count(Vendor::amd), 0U);
}

void intel_gpu(const Machine& machine, int minor, const std::string& address, const std::string& driver,
               int numa = -1) {
    machine.pci(fmt::format("/sys/class/drm/renderD{}", minor), address, driver, numa);
    machine.file(fmt::format("/dev/dri/renderD{}", minor));
}

TEST(FindDevices, OfIntelAreDiscrete) {
    const Machine machine;
    intel_gpu(machine, 128, "0000:00:02.0", "i915");
    EXPECT_EQ(machine.count(Vendor::intel), 0U) << "in the processor";
    intel_gpu(machine, 129, "0000:03:00.0", "xe", 1);
    intel_gpu(machine, 130, "0000:04:00.0", "i915", 0);
    intel_gpu(machine, 131, "0000:05:00.0", "amdgpu");
    EXPECT_EQ(machine.count(Vendor::intel), 2U);
    EXPECT_EQ(machine.count(Vendor::intel, {{"ZE_AFFINITY_MASK", "1"}}), 1U);
    EXPECT_EQ(machine.finder().numa_nodes(nothing_set), (std::vector{1, 0}));
    machine.remove("/dev/dri/renderD130");
    EXPECT_EQ(machine.count(Vendor::intel), 1U);
}

TEST(FindDevices, OfIntelWithMemoryAreDiscreteAtAnyAddress) {
    const Machine machine;
    intel_gpu(machine, 128, "0000:00:02.0", "xe");
    machine.file("/sys/devices/pci0000:00/0000:00:02.0/tile0/physical_vram_size_bytes", "8\n");
    EXPECT_EQ(machine.count(Vendor::intel), 1U) << "given to a virtual machine";
}

TEST(FindDevices, OfIntelAreTilesUnlessTheyAreJoined) {
    const Machine machine;
    intel_gpu(machine, 128, "0000:03:00.0", "xe");
    intel_gpu(machine, 129, "0000:04:00.0", "i915");
    for (const char* tile : {"0000:03:00.0/tile0/x", "0000:03:00.0/tile1/x", "0000:04:00.0/drm/card1/gt/gt0/x",
                             "0000:04:00.0/drm/card1/gt/gt1/x"})
        machine.file(std::string("/sys/devices/pci0000:00/") + tile);
    EXPECT_EQ(machine.count(Vendor::intel), 4U);
    EXPECT_EQ(machine.count(Vendor::intel, {{"ZE_AFFINITY_MASK", "1,2"}}), 2U);
    EXPECT_EQ(machine.count(Vendor::intel, {{"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}), 2U);
    EXPECT_EQ(
        machine.count(Vendor::intel, {{"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}, {"ZE_AFFINITY_MASK", "1.0,1.1"}}), 1U);
}

void accelerator(const Machine& machine, int number, const std::string& vendor, int module_id) {
    const std::string folder = fmt::format("/sys/class/accel/accel{}", number);
    machine.pci(folder, fmt::format("0000:{:02x}:00.0", 16 + number), "driver", 1);
    machine.file(folder + "/device/vendor", vendor + "\n");
    machine.file(folder + "/device/module_id", std::to_string(module_id) + "\n");
    machine.file(fmt::format("/dev/accel/accel{}", number));
}

TEST(FindDevices, OfHabanaAmongOtherAccelerators) {
    const Machine machine;
    accelerator(machine, 0, "0x8086", 0);
    accelerator(machine, 1, "0x1da3", 6);
    accelerator(machine, 2, "0x1da3", 7);
    machine.file("/sys/class/accel/accel_controlD1/dev");
    EXPECT_EQ(machine.count(Vendor::habana), 2U);
    EXPECT_EQ(machine.count(Vendor::habana, {{"HABANA_VISIBLE_MODULES", "6"}}), 1U);
    EXPECT_EQ(machine.count(Vendor::habana, {{"HABANA_VISIBLE_DEVICES", "1,2"}}), 2U);
    EXPECT_EQ(machine.finder().numa_nodes(nothing_set), (std::vector{1, 1}));
}

TEST(FindDevices, OfHabanaInOlderKernels) {
    const Machine machine;
    for (const int number : {0, 1}) {
        machine.file(fmt::format("/sys/class/habanalabs/hl{}/dev", number));
        machine.file(fmt::format("/sys/class/habanalabs/hl_controlD{}/dev", number));
        machine.file(fmt::format("/dev/hl{}", number));
    }
    EXPECT_EQ(machine.count(Vendor::habana), 2U);
    machine.remove("/dev/hl1");
    EXPECT_EQ(machine.count(Vendor::habana), 1U);
}

TEST(FindDevices, OfAscendAreDeviceFiles) {
    const Machine machine;
    for (const char* name : {"davinci0", "davinci1", "davinci10", "davinci_manager", "davinci"})
        machine.file(std::string("/dev/") + name);
    EXPECT_EQ(machine.count(Vendor::ascend), 3U);
    EXPECT_EQ(machine.count(Vendor::ascend, {{"ASCEND_RT_VISIBLE_DEVICES", "0,2"}}), 2U);
    EXPECT_EQ(machine.finder().numa_nodes(nothing_set), (std::vector{-1, -1, -1}));
}

TEST(FindDevices, OnlyThoseThatThisUserMayOpen) {
    if (::geteuid() == 0) GTEST_SKIP() << "root may open every file";
    const Machine machine;
    machine.file("/dev/davinci0");
    EXPECT_EQ(machine.count(Vendor::ascend), 1U);
    machine.forbid("/dev/davinci0");
    EXPECT_EQ(machine.count(Vendor::ascend), 0U);
}

}  // namespace
}  // namespace dlaunch::agent
