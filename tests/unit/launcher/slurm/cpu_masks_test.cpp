#include "launcher/slurm/cpu_masks.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Cores = std::vector<int>;

Cores cores(const char* type, const std::string& list, int tasks) {
    return cores_of_tasks({"vm", 1, {{"SLURM_CPU_BIND_TYPE", type}, {"SLURM_CPU_BIND_LIST", list}}}, tasks);
}

TEST(SlurmCpuMasks, AMaskIsHexadecimal) {
    EXPECT_EQ(parse_cpu_mask("0x1"), Cores{0});
    EXPECT_EQ(parse_cpu_mask("0x000000000000000A"), (Cores{1, 3}));
    EXPECT_EQ(parse_cpu_mask("f0"), (Cores{4, 5, 6, 7}));
    EXPECT_EQ(parse_cpu_mask("0x1" + std::string(32, '0')), Cores{128});
    EXPECT_EQ(parse_cpu_mask("0x0"), Cores{});
    for (const char* text : {"", "0x", "0xg", "0x1,", "-1"}) EXPECT_FALSE(parse_cpu_mask(text)) << text;
    EXPECT_FALSE(parse_cpu_mask(std::string(20'000, 'f')));
}

TEST(SlurmCpuMasks, AllTasksTogether) {
    EXPECT_EQ(cores("mask_cpu:", "0x1,0x2,0x8", 3), (Cores{0, 1, 3}));
    EXPECT_EQ(cores("mask_cpu:", "0x3,0x3", 2), (Cores{0, 1}));
    EXPECT_EQ(cores("map_cpu:", "4,0", 2), (Cores{0, 4}));
}

TEST(SlurmCpuMasks, OtherBindingsStay) {
    EXPECT_EQ(cores("mask_cpu:", "0x1,0x2", 3), Cores{}) << "the list is not that of these tasks";
    EXPECT_EQ(cores("mask_cpu:", "0x1,x", 2), Cores{});
    EXPECT_EQ(cores("map_cpu:", "4,-1", 2), Cores{});
    EXPECT_EQ(cores("none", "", 2), Cores{});
    EXPECT_EQ(cores_of_tasks({"vm", 1, {}}, 1), Cores{});
}

}  // namespace
}  // namespace dlaunch::launcher
