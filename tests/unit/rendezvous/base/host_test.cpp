#include "rendezvous/base/host.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>

namespace dlaunch::base {
namespace {

TEST(Host, cores_are_those_of_the_affinity_mask) {
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(usable_cores(), CPU_COUNT(&before));
    std::size_t first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1);
    sched_setaffinity(0, sizeof before, &before);
}

TEST(Host, values_may_hold_equals_signs) {
    setenv("HOST_TEST", "a=b", 1);
    const auto variables = environment();
    EXPECT_NE(std::find(variables.begin(), variables.end(), std::pair<std::string, std::string>("HOST_TEST", "a=b")),
              variables.end());
    unsetenv("HOST_TEST");
}

TEST(Host, has_a_name) { EXPECT_FALSE(host_name().empty()); }

}  // namespace
}  // namespace dlaunch::base
