#include "rendezvous/net/endpoint.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

TEST(Endpoint, is_a_host_with_or_without_a_port) {
    EXPECT_EQ(parse_endpoints("node1", 29400)->places, (std::vector<Endpoint>{{"node1", 29400}}));
    EXPECT_EQ(parse_endpoints("node1:123", 29400)->places, (std::vector<Endpoint>{{"node1", 123}}));
    EXPECT_EQ(parse_endpoints("[fe80::1%eth0]:123", 29400)->places, (std::vector<Endpoint>{{"fe80::1%eth0", 123}}));
    EXPECT_EQ(parse_endpoints("[::1]", 29400)->places, (std::vector<Endpoint>{{"::1", 29400}}));
    EXPECT_EQ(parse_endpoints(" node1 , node2:0", 7)->places, (std::vector<Endpoint>{{"node1", 7}, {"node2", 0}}));
}

TEST(Endpoint, may_be_several_in_their_order) {
    EXPECT_EQ(parse_endpoints("a,b:1,[::1]:2", 9)->places, (std::vector<Endpoint>{{"a", 9}, {"b", 1}, {"::1", 2}}));
}

TEST(Endpoint, may_be_a_folder) {
    EXPECT_EQ(parse_endpoints("file:///shared/dir", 9)->folder, "/shared/dir");
    EXPECT_FALSE(parse_endpoints("file://dir", 9));
}

TEST(Endpoint, may_be_an_etcd) {
    EXPECT_EQ(parse_endpoints("etcd://a,b:1,[::1]", 9)->etcd.members,
              (std::vector<Endpoint>{{"a", 2379}, {"b", 1}, {"::1", 2379}}));
    EXPECT_TRUE(parse_endpoints("etcd://a", 9)->places.empty());
    for (const char* text : {"etcd://", "etcd://a,", "etcd:///a", "etcd://a:x"})
        EXPECT_FALSE(parse_endpoints(text, 9)) << text;
}

TEST(Endpoint, anything_else_is_refused) {
    for (const char* text : {"", "a,", ",a", "a:", "a:x", "a:-1", "a:65536", "a:1:2", "::1", "[::1", "[::1]1", "[]:1",
                             "a b", "a/b", ":1", "a,,b", "ho\nst", "host:"})
        EXPECT_FALSE(parse_endpoints(text, 9)) << text;
}

TEST(Endpoint, is_written_as_it_is_read) {
    EXPECT_EQ((Endpoint{"node1", 5}).text(), "node1:5");
    EXPECT_EQ((Endpoint{"::1", 5}).text(), "[::1]:5");
}

}  // namespace
}  // namespace dlaunch::rendezvous
