#include "launcher/cli/endpoint.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

TEST(Host, NamesAndAddresses) {
    EXPECT_EQ(*parse_host(" node-1.cluster "), "node-1.cluster");
    EXPECT_EQ(*parse_host("[::1]"), "::1");
    EXPECT_EQ(*parse_host("fe80::1%eth0"), "fe80::1%eth0");
    for (const char* text : {"", " ", "a b", "a/b"}) EXPECT_FALSE(parse_host(text)) << text;
}

TEST(Backend, EtcdIsC10dWithAnotherEndpoint) {
    EXPECT_EQ(parse_backend("static")->backend, agent::Backend::fixed_address);
    EXPECT_EQ(parse_backend("c10d")->backend, agent::Backend::c10d);
    EXPECT_FALSE(parse_backend("c10d")->etcd);
    for (const char* text : {"etcd", "etcd-v2", " etcd "}) {
        EXPECT_EQ(parse_backend(text)->backend, agent::Backend::c10d) << text;
        EXPECT_TRUE(parse_backend(text)->etcd) << text;
    }
    for (const char* text : {"nonsense", ""}) {
        auto wrong = parse_backend(text);
        ASSERT_FALSE(wrong) << text;
        EXPECT_EQ(wrong.error().text, "expected static, c10d or etcd");
    }
}

}  // namespace
}  // namespace dlaunch::launcher
