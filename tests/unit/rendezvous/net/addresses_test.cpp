#include "rendezvous/net/addresses.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using Texts = std::vector<std::string>;

const Texts kOwn{"127.0.0.1", "10.0.0.7", "::1", "fd00::7"};

Texts own_at(const std::string& host, const Texts& resolved) {
    return own_addresses_at({host, 1}, resolved, kOwn, "node7", "10.0.0.7");
}

TEST(Addresses, an_endpoint_that_names_one_of_ours_is_ours) {
    EXPECT_EQ(own_at("10.0.0.7", {"10.0.0.7"}), Texts{"10.0.0.7"});
    EXPECT_EQ(own_at("alias", {"10.9.9.9", "fd00::7"}), Texts{"fd00::7"});
    EXPECT_EQ(own_at("both", {"10.0.0.7", "fd00::7"}), (Texts{"10.0.0.7", "fd00::7"}));
}

TEST(Addresses, an_endpoint_elsewhere_is_not) {
    EXPECT_EQ(own_at("node1", {"10.0.0.1"}), Texts{});
    EXPECT_EQ(own_at("node1", {}), Texts{});
}

TEST(Addresses, loopback_counts_only_where_it_was_written) {
    EXPECT_EQ(own_at("localhost", {"127.0.0.1", "::1"}), (Texts{"127.0.0.1", "::1"}));
    EXPECT_EQ(own_at("127.0.0.1", {"127.0.0.1"}), Texts{"127.0.0.1"});
    EXPECT_EQ(own_at("::ffff:127.0.0.1", {"127.0.0.1"}), Texts{"127.0.0.1"});
    EXPECT_EQ(own_at("node1", {"127.0.0.1"}), Texts{}) << "a wrong table of names";
}

TEST(Addresses, own_name_at_127_0_1_1_stands_for_the_advertised_address) {
    for (const char* name : {"node7", "NODE7", "node7.example.com", "Node7.Example.Com"})
        EXPECT_EQ(own_at(name, {"127.0.1.1"}), Texts{"10.0.0.7"}) << name;
    for (const char* name : {"node77", "node77.example.com", "example.com", "node"})
        EXPECT_EQ(own_at(name, {"127.0.1.1"}), Texts{}) << name;
    EXPECT_EQ(own_addresses_at({"node7", 1}, {"127.0.1.1"}, kOwn, "node7.example.com", "10.0.0.7"), Texts{"10.0.0.7"});
}

TEST(Addresses, loopback_is_reached_from_loopback) { EXPECT_EQ(own_address_towards("127.0.0.1"), "127.0.0.1"); }

TEST(Addresses, an_interface_has_its_first_address) {
    EXPECT_EQ(address_of_interface("lo"), "127.0.0.1");
    EXPECT_EQ(address_of_interface("none7"), "");
    EXPECT_EQ(address_of_interface(""), "");
}

TEST(Addresses, numbers_stand_for_themselves) {
    EXPECT_EQ(*addresses_of("127.0.0.1"), Texts{"127.0.0.1"});
    EXPECT_EQ(*addresses_of("::ffff:10.0.0.1"), Texts{"10.0.0.1"});
    EXPECT_EQ(*addresses_of("::ffff:a00:1"), Texts{"10.0.0.1"});
    EXPECT_EQ(socket_address("::1", 80)->storage.ss_family, AF_INET6);
    EXPECT_FALSE(socket_address("node1", 80));
}

}  // namespace
}  // namespace dlaunch::rendezvous
