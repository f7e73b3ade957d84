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

TEST(Backend, OnlyTwoAreServed) {
    EXPECT_EQ(*parse_backend("static"), agent::Backend::fixed_address);
    EXPECT_EQ(*parse_backend("c10d"), agent::Backend::c10d);
    for (const char* text : {"etcd", "etcd-v2", "nonsense", ""}) {
        auto wrong = parse_backend(text);
        ASSERT_FALSE(wrong) << text;
        EXPECT_NE(wrong.error().text.find("expected c10d or static"), std::string::npos);
    }
}

}  // namespace
}  // namespace dlaunch::launcher
