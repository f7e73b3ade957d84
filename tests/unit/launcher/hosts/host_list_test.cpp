#include "launcher/hosts/host_list.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Texts = std::vector<std::string>;

Texts texts(std::string_view list) {
    const auto hosts = parse_host_list(list);
    if (!hosts) return {"error: " + hosts.error().text};
    Texts found;
    for (const HostEntry& host : *hosts) found.push_back(host.text());
    return found;
}

std::string error_of(std::string_view list) {
    const auto hosts = parse_host_list(list);
    return hosts ? "none" : hosts.error().text;
}

TEST(HostList, NamesStayInOrder) {
    EXPECT_EQ(texts("n1"), Texts{"n1"});
    EXPECT_EQ(texts("b,a,10.0.0.7"), (Texts{"b", "a", "10.0.0.7"}));
    EXPECT_EQ(texts("n[1-3],n2"), (Texts{"n1", "n2", "n3", "n2"})) << "repeated names stay";
    EXPECT_EQ(texts(" a , b"), (Texts{"a", "b"}));
}

TEST(HostList, CommasInBracketsSeparateRanges) {
    EXPECT_EQ(texts("gpu[1-3,5,09-11],login"),
              (Texts{"gpu1", "gpu2", "gpu3", "gpu5", "gpu09", "gpu10", "gpu11", "login"}));
}

TEST(HostList, UsersAndSlotsApplyToAllNamesOfAnItem) {
    EXPECT_EQ(texts("ann@n[1-2]:4,m:2,bob@k"), (Texts{"ann@n1:4", "ann@n2:4", "m:2", "bob@k"}));
    const auto hosts = parse_host_list("ann@n1-ib:4,m");
    ASSERT_TRUE(hosts);
    EXPECT_EQ(*hosts, (std::vector<HostEntry>{{"n1-ib", "ann", 4}, {"m", "", std::nullopt}}));
}

TEST(HostList, AnIPv6AddressIsInBrackets) {
    const auto hosts = parse_host_list("ann@[fe80::1%eth0]:4,[::1]");
    ASSERT_TRUE(hosts);
    EXPECT_EQ(*hosts, (std::vector<HostEntry>{{"fe80::1%eth0", "ann", 4}, {"::1", "", std::nullopt}}));
    EXPECT_EQ(texts("ann@[fe80::1%eth0]:4,[::1]"), (Texts{"ann@[fe80::1%eth0]:4", "[::1]"}));
    for (const char* address : {"fe80::1", "::1", "fe80::1%eth0"})
        EXPECT_EQ(error_of(std::string("ann@") + address),
                  std::string("ann@") + address + ": an IPv6 address, expected it in brackets: [" + address + "]");
}

TEST(HostList, OnlyAnAddressIsOne) {
    using namespace std::string_view_literals;
    for (const std::string_view list : {"[::1\0]"sv, "[::g]"sv, "[1:3]"sv, "[::1%]"sv, "[::1]x"sv})
        EXPECT_FALSE(parse_host_list(list)) << list;
    EXPECT_FALSE(parse_host_list("[::1%" + std::string(255, 'e') + "]"));
}

TEST(HostList, BadItemsAreNamed) {
    for (const char* item : {"a:0", "a:x", "a:", "a:-1", "a:65537", "a:2:3", "a: 2", "n:2[1-2]"})
        EXPECT_TRUE(error_of(std::string("ok,") + item + ",k").starts_with(std::string(item) + ": expected HOST:SLOTS"))
            << error_of(item);
    for (const char* item : {"@a", "a@", "@", ":2", "a@:2", "-l@a", "a b@c"})
        EXPECT_EQ(error_of(std::string("ok,") + item),
                  std::string(item) + ": expected HOST, USER@HOST, HOST:SLOTS or USER@HOST:SLOTS");
    for (const char* item : {"a b", "a@b@c", "a/b", "a;b", "$(a)", "-oProxyCommand=x", "-x"})
        EXPECT_NE(error_of(std::string("ok,") + item).find(": expected a name"), std::string::npos) << item;
}

TEST(HostList, EmptyItemsAreErrors) {
    for (const char* list : {"", ",", "a,", ",a", "n1,,n2", " ", "a, ,b"})
        EXPECT_TRUE(error_of(list).starts_with("an empty name, expected host names")) << list;
}

TEST(HostList, OnlyTheBadItemOfALongListIsShown) {
    EXPECT_EQ(error_of("n[1-20],m[5-3],k[1-9]"), "m[5-3]: range 5-3, expected its first number not above its last");
    EXPECT_LT(error_of(std::string(100'000, 'n')).size(), 400U);
}

TEST(HostList, TheLimitHoldsForAllItemsTogether) {
    EXPECT_EQ(texts("n[1-131071],a").size(), 131'072U);
    EXPECT_EQ(error_of("n[1-131071],a,b"), "b: too many names, expected at most 131072 in a list");
    EXPECT_EQ(error_of("n[1-100000],m[1-100000]"), "m[1-100000]: too many names, expected at most 131072 in a list");
}

TEST(HostList, NamesAlone) {
    EXPECT_EQ(*parse_host_names("node[01-03,7],login"), (Texts{"node01", "node02", "node03", "node7", "login"}));
    EXPECT_FALSE(parse_host_names("node["));
}

TEST(HostList, FindsARepeatedHost) {
    const std::vector<HostEntry> hosts{{"a", "ann"}, {"b"}, {"a", "bob"}};
    EXPECT_EQ(repeated_host(hosts), &hosts[2]);
    EXPECT_EQ(repeated_host({{"a"}, {"b"}}), nullptr);
}

}  // namespace
}  // namespace dlaunch::launcher
