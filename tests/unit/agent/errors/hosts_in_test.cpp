#include "agent/errors/hosts_in.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Words = std::vector<std::string>;

TEST(HostsIn, FindsAddressesAndNames) {
    EXPECT_EQ(hosts_in("[pair.cc:534] Connection closed by peer [10.0.0.3]:4711"), (Words{"pair.cc", "10.0.0.3"}));
    EXPECT_EQ(hosts_in("Call to recv from 10.0.0.3<41823> failed: Connection reset by peer"), Words{"10.0.0.3"});
    EXPECT_EQ(hosts_in("connect to [fd00::3]:4711: Connection refused"), Words{"fd00::3"});
    EXPECT_EQ(hosts_in("lost the connection to node alpha."), Words{"alpha"});
    EXPECT_EQ(hosts_in("alpha.example.org:29500: Broken pipe"), Words{"alpha.example.org"});
    EXPECT_EQ(hosts_in("gpu-17 and gpu-17 closed it"), Words{"gpu-17"});
}

TEST(HostsIn, OtherWordsAreNone) {
    EXPECT_EQ(hosts_in("RuntimeError: Connection reset by peer"), Words{});
    EXPECT_EQ(hosts_in("error: 104"), Words{});
    EXPECT_EQ(hosts_in("time 12:30: [not::an::address"), Words{"12"}) << "before a port, as far as one can tell";
    EXPECT_EQ(hosts_in("node "), Words{});
    EXPECT_EQ(hosts_in(""), Words{});
}

}  // namespace
}  // namespace dlaunch::agent
