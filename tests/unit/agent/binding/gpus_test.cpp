#include "agent/binding/gpus.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

TEST(NvidiaDevice, HasTheMinorNumberAndTheUuid) {
    const auto device =
        nvidia_device("Model: \t\t Some GPU\nGPU UUID: \t GPU-5e:x\nDevice Minor: \t 11\nGPU Excluded: \t No\n");
    ASSERT_TRUE(device);
    EXPECT_EQ(*device, (Device{.number = 11, .uuid = "GPU-5e:x"}));
}

TEST(NvidiaDevice, HasNoUuidBeforeItsFirstUse) {
    EXPECT_EQ(nvidia_device("GPU UUID:  GPU-????????\nDevice Minor: 0\n")->uuid, "");
}

TEST(NvidiaDevice, IsNoneForOtherTextAndForAnExcludedGpu) {
    EXPECT_FALSE(nvidia_device(""));
    EXPECT_FALSE(nvidia_device("Device Minor: none\n"));
    EXPECT_FALSE(nvidia_device("Device Minor: 1\nGPU Excluded: Yes\n"));
}

}  // namespace
}  // namespace dlaunch::agent
