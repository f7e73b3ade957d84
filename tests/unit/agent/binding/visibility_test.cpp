#include "agent/binding/visibility.hpp"

#include <gtest/gtest.h>

#include <map>

namespace dlaunch::agent {
namespace {

using Set = std::map<std::string, std::string, std::less<>>;

VariableLookup lookup(Set set) {
    return [set = std::move(set)](std::string_view name) -> std::optional<std::string> {
        const auto found = set.find(name);
        return found == set.end() ? std::nullopt : std::optional(found->second);
    };
}

/// Devices with the numbers 0 to 3, and modules in the opposite order.
std::vector<Device> four_devices() {
    std::vector<Device> devices;
    for (int number = 0; number < 4; ++number)
        devices.push_back(
            {.number = number, .module_id = 3 - number, .uuid = "GPU-" + std::string(4, char('a' + number))});
    return devices;
}

std::vector<int> seen(Vendor vendor, Set set) {
    std::vector<int> numbers;
    for (const Device& device : visible_devices(vendor, four_devices(), lookup(std::move(set))))
        numbers.push_back(device.number);
    return numbers;
}

TEST(VisibleDevices, AreAllWithoutAVariable) {
    for (const Vendor vendor : {Vendor::nvidia, Vendor::amd, Vendor::intel, Vendor::habana, Vendor::ascend})
        EXPECT_EQ(seen(vendor, {}), (std::vector{0, 1, 2, 3})) << visibility_variable(vendor);
}

TEST(VisibleDevices, OfNvidiaFollowTheListOfCuda) {
    EXPECT_EQ(seen(Vendor::nvidia, {{"CUDA_VISIBLE_DEVICES", "2,GPU-a"}}), (std::vector{2, 0}));
    EXPECT_EQ(seen(Vendor::nvidia, {{"CUDA_VISIBLE_DEVICES", ""}}), std::vector<int>{});
    EXPECT_EQ(seen(Vendor::nvidia, {{"HIP_VISIBLE_DEVICES", "0"}}).size(), 4U);
}

TEST(VisibleDevices, OfAmdAreThoseOfHipAmongThoseOfRocr) {
    EXPECT_EQ(seen(Vendor::amd, {{"HIP_VISIBLE_DEVICES", "3,0"}, {"CUDA_VISIBLE_DEVICES", "1"}}), (std::vector{3, 0}));
    EXPECT_EQ(seen(Vendor::amd, {{"CUDA_VISIBLE_DEVICES", "1"}}), std::vector{1}) << "HIP reads it, too";
    EXPECT_EQ(seen(Vendor::amd, {{"ROCR_VISIBLE_DEVICES", "GPU-c,1"}}), (std::vector{2, 1}));
    EXPECT_EQ(seen(Vendor::amd, {{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}}), std::vector{3});
    EXPECT_EQ(seen(Vendor::amd, {{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "2"}}), std::vector<int>{});
}

TEST(VisibleDevices, OfIntelFollowAMask) {
    EXPECT_EQ(seen(Vendor::intel, {{"ZE_AFFINITY_MASK", "3,1,3"}}), (std::vector{1, 3})) << "a mask has no order";
    EXPECT_EQ(seen(Vendor::intel, {{"ZE_AFFINITY_MASK", "1.0,1.1,2.0"}}), (std::vector{1, 2})) << "tiles of a card";
    EXPECT_EQ(seen(Vendor::intel, {{"ZE_AFFINITY_MASK", "x,9,0"}}), std::vector{0});
    EXPECT_EQ(seen(Vendor::intel, {{"ZE_AFFINITY_MASK", "9"}}), std::vector<int>{});
    for (const char* all : {"", "default"}) EXPECT_EQ(seen(Vendor::intel, {{"ZE_AFFINITY_MASK", all}}).size(), 4U);
}

TEST(VisibleDevices, OfHabanaHaveNumbersAndModules) {
    EXPECT_EQ(seen(Vendor::habana, {{"HABANA_VISIBLE_MODULES", "0,1"}}), (std::vector{2, 3}));
    EXPECT_EQ(seen(Vendor::habana, {{"HABANA_VISIBLE_DEVICES", "0,2"}}), (std::vector{0, 2}));
    EXPECT_EQ(seen(Vendor::habana, {{"HABANA_VISIBLE_DEVICES", "0,2"}, {"HABANA_VISIBLE_MODULES", "3"}}),
              std::vector{0});
    for (const char* all : {"", "all"}) EXPECT_EQ(seen(Vendor::habana, {{"HABANA_VISIBLE_DEVICES", all}}).size(), 4U);
}

TEST(VisibleDevices, OfAscendEndAtTheFirstOtherText) {
    EXPECT_EQ(seen(Vendor::ascend, {{"ASCEND_RT_VISIBLE_DEVICES", "1,3"}}), (std::vector{1, 3}));
    EXPECT_EQ(seen(Vendor::ascend, {{"ASCEND_RT_VISIBLE_DEVICES", "1, 2"}}), std::vector{1}) << "a blank";
    EXPECT_EQ(seen(Vendor::ascend, {{"ASCEND_RT_VISIBLE_DEVICES", "0,4,1"}}), std::vector{0});
    EXPECT_EQ(seen(Vendor::ascend, {{"ASCEND_RT_VISIBLE_DEVICES", "2,1"}}), std::vector{2}) << "descends";
    EXPECT_EQ(seen(Vendor::ascend, {{"ASCEND_RT_VISIBLE_DEVICES", ""}}), std::vector<int>{});
}

TEST(SingleDevice, IsTheEntryAtTheLocalRankElseTheRank) {
    const auto one = [](Vendor vendor, Set set, int rank = 1) {
        return single_device(vendor, lookup(std::move(set)), rank);
    };
    EXPECT_EQ(one(Vendor::nvidia, {{"CUDA_VISIBLE_DEVICES", "6, ,GPU-3 "}}),
              (Variables{{"CUDA_VISIBLE_DEVICES", "GPU-3"}}));
    EXPECT_EQ(one(Vendor::nvidia, {}), (Variables{{"CUDA_VISIBLE_DEVICES", "1"}}));
    EXPECT_EQ(one(Vendor::nvidia, {{"CUDA_VISIBLE_DEVICES", "6"}}), (Variables{{"CUDA_VISIBLE_DEVICES", ""}}));
    EXPECT_EQ(one(Vendor::intel, {{"ZE_AFFINITY_MASK", "0.0,0.1"}}), (Variables{{"ZE_AFFINITY_MASK", "0.1"}}));
    EXPECT_EQ(one(Vendor::habana, {{"HABANA_VISIBLE_MODULES", "4,5"}}), (Variables{{"HABANA_VISIBLE_MODULES", "5"}}));
    EXPECT_EQ(one(Vendor::ascend, {}), (Variables{{"ASCEND_RT_VISIBLE_DEVICES", "1"}}));
}

TEST(SingleDevice, OfAmdIsNamedToHipAndCudaAlike) {
    const auto both = [](const char* device) {
        return Variables{{"HIP_VISIBLE_DEVICES", device}, {"CUDA_VISIBLE_DEVICES", device}};
    };
    EXPECT_EQ(single_device(Vendor::amd, lookup({{"CUDA_VISIBLE_DEVICES", "2,3"}}), 0), both("2"));
    EXPECT_EQ(single_device(Vendor::amd, lookup({{"HIP_VISIBLE_DEVICES", "5,4"}, {"CUDA_VISIBLE_DEVICES", "2,3"}}), 1),
              both("4"));
    EXPECT_EQ(single_device(Vendor::amd, lookup({{"ROCR_VISIBLE_DEVICES", "6,7"}}), 1), both("1"));
}

TEST(VisibilityInEffect, IsTheFirstVariableThatIsSet) {
    EXPECT_FALSE(visibility_in_effect(Vendor::amd, lookup({{"ZE_AFFINITY_MASK", "1"}})));
    EXPECT_EQ(visibility_in_effect(Vendor::intel, lookup({{"ZE_AFFINITY_MASK", "1"}}))->value, "1");
    EXPECT_EQ(visibility_in_effect(Vendor::amd, lookup({{"ROCR_VISIBLE_DEVICES", "1"}}))->variable,
              "ROCR_VISIBLE_DEVICES");
    EXPECT_EQ(visibility_in_effect(Vendor::amd, lookup({{"CUDA_VISIBLE_DEVICES", ""}, {"ROCR_VISIBLE_DEVICES", "1"}}))
                  ->variable,
              "CUDA_VISIBLE_DEVICES");
}

const std::vector<std::string> kUuids{"GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44"};

std::vector<int> visible(std::optional<std::string_view> text) { return visible_gpus(text, kUuids); }

TEST(VisibleGpus, AreAllWithoutAList) { EXPECT_EQ(visible(std::nullopt), (std::vector{0, 1, 2, 3})); }

TEST(VisibleGpus, FollowTheListsOrder) {
    EXPECT_EQ(visible("2,0"), (std::vector{2, 0}));
    EXPECT_EQ(visible(" 1 , 3 "), (std::vector{1, 3}));
    EXPECT_EQ(visible("GPU-bb33,GPU-aa1"), (std::vector{2, 0}));
    EXPECT_EQ(visible("1x"), (std::vector{1}));
}

TEST(VisibleGpus, EndAtTheFirstInvalidEntry) {
    EXPECT_EQ(visible("0,-1,2"), (std::vector{0}));
    EXPECT_EQ(visible("0,4,1"), (std::vector{0}));
    EXPECT_EQ(visible("1,,2"), (std::vector{1}));
    EXPECT_EQ(visible("GPU-cc,GPU-zz,GPU-bb"), (std::vector{3}));
    EXPECT_EQ(visible("GPU-aa"), std::vector<int>{}) << "two GPUs begin like that";
}

TEST(VisibleGpus, AreNoneForAnEmptyOrUselessList) {
    for (const char* text : {"", "-1", "none", "NoDevFiles", ",0", "99999999999"})
        EXPECT_EQ(visible(text), std::vector<int>{}) << text;
}

TEST(VisibleGpus, AreNoneForADuplicateEntry) {
    EXPECT_EQ(visible("1,1"), std::vector<int>{});
    EXPECT_EQ(visible("0,GPU-aa11"), std::vector<int>{});
}

TEST(VisibleGpus, CountSlices) { EXPECT_EQ(visible("MIG-1-2-3"), (std::vector{-1})); }

}  // namespace
}  // namespace dlaunch::agent
