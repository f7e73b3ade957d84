#include "launcher/start/front_listeners.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Addresses = std::vector<std::string>;

const Addresses kOwn{"127.0.0.1", "10.0.0.5", "::1", "2001:db8::5", "fe80::1%eth0", "192.168.1.5"};

TEST(FrontAddresses, version_4_comes_first_and_loopback_last) {
    EXPECT_EQ(front_addresses(kOwn, false, "", 8), (Addresses{"10.0.0.5", "192.168.1.5", "2001:db8::5", "127.0.0.1"}));
}

TEST(FrontAddresses, only_loopback_for_agents_of_this_machine) {
    EXPECT_EQ(front_addresses(kOwn, true, "", 8), Addresses{"127.0.0.1"});
}

TEST(FrontAddresses, a_named_address_stands_alone) {
    EXPECT_EQ(front_addresses(kOwn, false, "10.0.0.5", 8), Addresses{"10.0.0.5"});
}

TEST(FrontAddresses, no_more_than_allowed) {
    EXPECT_EQ(front_addresses(kOwn, false, "", 2), (Addresses{"10.0.0.5", "127.0.0.1"}));
}

TEST(ListenAt, all_addresses_have_one_port) {
    const auto listeners = listen_at({"127.0.0.1", "127.0.0.2"});
    ASSERT_TRUE(listeners);
    ASSERT_EQ(listeners->size(), 2U);
    EXPECT_EQ(listeners->front().port, listeners->back().port);
}

TEST(ListenAt, no_address_of_this_host_is_an_error) { EXPECT_FALSE(listen_at({"192.0.2.1"})); }

}  // namespace
}  // namespace dlaunch::launcher
