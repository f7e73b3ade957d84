#include "worker_lib/src/bootstrap/cores.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "rendezvous/base/host.hpp"
#include "worker_lib/src/bootstrap/bootstrap.hpp"

namespace dlaunch::worker {
namespace {

/// Members of host "here" with these masks, and one of another host.
std::vector<Member> members(std::initializer_list<const char*> masks) {
    std::vector<Member> made;
    for (const char* mask : masks) made.push_back({.host_id = "here", .host = "h", .backend = "auto", .cores = mask});
    made.push_back({.host_id = "there", .host = "t", .backend = "auto", .cores = "f"});
    return made;
}

TEST(Cores, are_enough_where_the_ranks_have_as_many_together) {
    EXPECT_TRUE(have_core_each(members({"3", "3"}), "here")) << "two ranks on two processors";
    EXPECT_TRUE(have_core_each(members({"1", "2"}), "here")) << "one processor for each";
    EXPECT_TRUE(have_core_each(members({"1", "02", "8"}), "here")) << "masks of different lengths";
    EXPECT_FALSE(have_core_each(members({"3", "3", "3"}), "here"));
    EXPECT_FALSE(have_core_each(members({"1", "1"}), "here"));
    EXPECT_FALSE(have_core_each(members({"", ""}), "here")) << "unknown";
    EXPECT_TRUE(have_core_each(members({"1", "1"}), "there")) << "of that host only";
}

TEST(Cores, of_this_process_are_those_of_its_affinity) {
    int bits = 0;
    for (const char digit : usable_core_mask())
        bits += std::popcount(static_cast<unsigned>(std::stoi(std::string(1, digit), nullptr, 16)));
    EXPECT_EQ(bits, base::usable_cores());
}

}  // namespace
}  // namespace dlaunch::worker
