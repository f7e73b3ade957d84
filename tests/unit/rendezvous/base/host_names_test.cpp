#include "rendezvous/base/host_names.hpp"

#include <gtest/gtest.h>

namespace dlaunch::base {
namespace {

TEST(HostNames, are_equal_in_any_case_and_with_or_without_a_domain) {
    for (const char* name : {"node7", "NODE7", "node7.example.com", "Node7.Example.Com"}) {
        EXPECT_TRUE(is_same_host("node7", name)) << name;
        EXPECT_TRUE(is_same_host(name, "node7")) << name;
    }
    for (const char* name : {"node77", "node77.example.com", "example.com", "node", "node7-a"})
        EXPECT_FALSE(is_same_host("node7", name)) << name;
    EXPECT_FALSE(is_same_host("node7.one", "node7.two"));
    EXPECT_EQ(lower_name("Node7.Example.Com"), "node7.example.com");
}

}  // namespace
}  // namespace dlaunch::base
