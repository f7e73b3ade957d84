#include "launcher/hosts/compress.hpp"

#include <gtest/gtest.h>

#include <random>

namespace dlaunch::launcher {
namespace {

std::string folded(std::string_view list) { return compress(parse_host_list(list).value()); }

TEST(Compress, NeighboursShareABracket) {
    EXPECT_EQ(folded("n1,n2,n3"), "n[1-3]");
    EXPECT_EQ(folded("n1"), "n1");
    EXPECT_EQ(folded("a,b,c"), "a,b,c");
    EXPECT_EQ(folded("gpu001,gpu002,gpu004,login"), "gpu[001-002,004],login");
    EXPECT_EQ(folded("10.0.0.1,10.0.0.2"), "10.0.0.[1-2]");
}

TEST(Compress, TheOrderAndRepeatedNamesStay) {
    EXPECT_EQ(folded("n3,n1,n2"), "n[3,1-2]");
    EXPECT_EQ(folded("x1,y1,x2,y2"), "x1,y1,x2,y2");
    EXPECT_EQ(folded("n1,n1,n2"), "n[1,1-2]");
}

TEST(Compress, LeadingZerosStay) {
    EXPECT_EQ(folded("a01,a2,a3"), "a[01,2-3]");
    EXPECT_EQ(folded("n08,n09,n10"), "n[08-10]");
    EXPECT_EQ(folded("n9,n10"), "n[9-10]");
    EXPECT_EQ(folded("n09,n010"), "n[09,010]");
    EXPECT_EQ(folded("n99,n100"), "n[99-100]");
    EXPECT_EQ(folded("n0,n00,n01"), "n[0,00-01]");
}

TEST(Compress, TheLastNumberIsFolded) {
    EXPECT_EQ(folded("r1n08,r1n09,r2n08"), "r1n[08-09],r2n08");
    EXPECT_EQ(folded("n1.local,n2.local,n3"), "n[1-2].local,n3");
}

TEST(Compress, UsersAndSlotsKeepGroupsApart) {
    EXPECT_EQ(folded("ann@n1:4,ann@n2:4,n3:4,n4,n5"), "ann@n[1-2]:4,n3:4,n[4-5]");
    EXPECT_EQ(folded("[fe80::1]:2,[fe80::2]:2"), "[fe80::1]:2,[fe80::2]:2");
}

TEST(Compress, LongNumbersAreText) {
    EXPECT_EQ(folded("n1234567890123456789,n1234567890123456790"), "n1234567890123456789,n1234567890123456790");
    EXPECT_EQ(folded("n999999999999999998,n999999999999999999"), "n[999999999999999998-999999999999999999]");
}

TEST(Compress, ExpandsToTheSame) {
    std::mt19937 dice(7);
    const char* const beginnings[] = {"n", "gpu-", "r1n", "a0b", "", "ann@n"};
    const char* const ends[] = {"", "", ".local", ":4", "-ib:2"};
    for (int round = 0; round < 300; ++round) {
        std::string list;
        for (std::size_t i = 0, count = 1 + dice() % 40; i < count; ++i) {
            std::string number = std::to_string(dice() % 120);
            number.insert(0, dice() % 3, '0');
            list += (list.empty() ? "" : ",") + std::string(beginnings[dice() % 6]) + number + ends[dice() % 5];
        }
        const auto hosts = parse_host_list(list).value();
        ASSERT_EQ(parse_host_list(compress(hosts)).value(), hosts) << list << "\n" << compress(hosts);
    }
}

}  // namespace
}  // namespace dlaunch::launcher
