#include "agent/binding/gpus.hpp"

#include <gtest/gtest.h>

#include "agent/binding/binding.hpp"

namespace dlaunch::agent {
namespace {

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

TEST(CountGpus, NeverCountsMoreThanThereAre) {
    const int all = count_gpus(std::nullopt);
    EXPECT_GE(all, 0);
    EXPECT_EQ(count_gpus(""), 0);
    EXPECT_LE(count_gpus("0"), all);
    EXPECT_EQ(gpu_numa_nodes(std::nullopt).size(), static_cast<std::size_t>(all));
}

}  // namespace
}  // namespace dlaunch::agent
