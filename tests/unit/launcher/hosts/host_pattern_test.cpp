#include "launcher/hosts/host_pattern.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Names = std::vector<std::string>;

Names names(std::string_view pattern) { return expand_host_pattern(pattern, kMostHosts).value(); }

std::string error_of(std::string_view pattern, std::size_t most = kMostHosts) {
    const auto expanded = expand_host_pattern(pattern, most);
    return expanded ? "none" : expanded.error().text;
}

TEST(HostPattern, RangesAndSingleNumbers) {
    EXPECT_EQ(names("n[1-3]"), (Names{"n1", "n2", "n3"}));
    EXPECT_EQ(names("n[1-3,7]"), (Names{"n1", "n2", "n3", "n7"}));
    EXPECT_EQ(names("n[5]"), Names{"n5"});
    EXPECT_EQ(names("[1-2]"), (Names{"1", "2"}));
    EXPECT_EQ(names("n[3,1]"), (Names{"n3", "n1"}));
}

TEST(HostPattern, NumbersHaveTheWidthOfTheFirstNumberOfTheirRange) {
    EXPECT_EQ(names("node[08-10]"), (Names{"node08", "node09", "node10"}));
    EXPECT_EQ(names("n[001-3]"), (Names{"n001", "n002", "n003"}));
    EXPECT_EQ(names("n[01-03,7]"), (Names{"n01", "n02", "n03", "n7"}));
    EXPECT_EQ(names("x[9-11]"), (Names{"x9", "x10", "x11"}));
    EXPECT_EQ(names("n[0000-0002]"), (Names{"n0000", "n0001", "n0002"}));
    EXPECT_EQ(names("n[1-003]"), (Names{"n1", "n2", "n3"}));
}

TEST(HostPattern, TheLastBracketChangesFastest) {
    EXPECT_EQ(names("rack[1-2]n[08-10]"),
              (Names{"rack1n08", "rack1n09", "rack1n10", "rack2n08", "rack2n09", "rack2n10"}));
    EXPECT_EQ(names("r[1-2][3-4]"), (Names{"r13", "r14", "r23", "r24"}));
}

TEST(HostPattern, TextMayFollowABracket) {
    EXPECT_EQ(names("n[1-2]-ib[0-1]"), (Names{"n1-ib0", "n1-ib1", "n2-ib0", "n2-ib1"}));
    EXPECT_EQ(names("dgx-[01-02].cluster.local"), (Names{"dgx-01.cluster.local", "dgx-02.cluster.local"}));
    EXPECT_EQ(names("n[1-2]x"), (Names{"n1x", "n2x"}));
}

TEST(HostPattern, BadRangesAreNamed) {
    for (const char* range : {"0x1", "1:3", "0-10/2", "1-", "-3", "1-2-3", "a-c", " 1", "1234567890123456789"})
        EXPECT_EQ(error_of("n[5," + std::string(range) + "]"),
                  "n[5," + std::string(range) + "]: range " + range +
                      ", expected FIRST-LAST or a number, of at most 18 digits");
    EXPECT_EQ(error_of("n[3-1]"), "n[3-1]: range 3-1, expected its first number not above its last");
    for (const char* pattern : {"n[]", "n[1,,3]", "n[1,]", "n[,1]"})
        EXPECT_EQ(error_of(pattern),
                  std::string(pattern) + ": a bracket with an empty range, expected numbers as [01-03,7]");
}

TEST(HostPattern, BracketsMatch) {
    for (const char* pattern : {"n[1", "n1]", "n[[1-2]]", "n]1[", "[", "]", "n[1]]", "n[1][", "n[1[2]3]"})
        EXPECT_EQ(error_of(pattern), std::string(pattern) + ": expected brackets in pairs, without brackets inside");
}

TEST(HostPattern, ManyNamesAreRefusedBeforeTheyExist) {
    EXPECT_EQ(error_of("n[0-999999999999]"), "n[0-999999999999]: too many names, expected at most 131072 in a list");
    std::string many_ranges = "n[0-65535", many_brackets = "n", largest = "n[";
    for (int i = 0; i < 1000; ++i) many_ranges += ",0-65535";
    for (int i = 0; i < 40; ++i) many_brackets += "[0-99999]";
    for (int i = 0; i < 40; ++i) largest += "0-999999999999999999,";
    for (const std::string& pattern : {many_ranges + "]", many_brackets, largest + "1]"})
        EXPECT_NE(error_of(pattern).find("too many names"), std::string::npos) << error_of(pattern);
    EXPECT_EQ(error_of("n[1-3]", 3), "none");
    EXPECT_NE(error_of("n[1-2][1-2]", 3), "none");
    EXPECT_NE(error_of("n", 0), "none");
}

TEST(HostPattern, ANameHasTheLengthOfAHostName) {
    const std::string longest(254, 'n');
    EXPECT_EQ(error_of(longest + "n"), "none");
    EXPECT_EQ(error_of(longest + "[0-9]"), "none");
    EXPECT_NE(error_of(longest + "[0-10]").find("a name of 256 bytes, expected at most 255 bytes"), std::string::npos);
    EXPECT_NE(error_of(longest + "n[0-9]").find("a name of 256 bytes"), std::string::npos);
    std::string brackets = "n[0-9]";
    for (int i = 0; i < 254; ++i) brackets += "[1]";
    EXPECT_NE(error_of(brackets).find("a name of 256 bytes"), std::string::npos);
}

TEST(HostPattern, AnotherProgramCannotReadANameAsAnOption) {
    EXPECT_EQ(error_of("-o[1-2]"), "-o[1-2]: expected a name, without a dash at its beginning");
    EXPECT_NE(error_of("a b"), "none");
    EXPECT_NE(error_of("a\nb"), "none");
    EXPECT_NE(error_of(std::string_view("a\0b", 3)), "none");
    EXPECT_FALSE(is_host_name("-l"));
    EXPECT_FALSE(is_host_name(""));
    EXPECT_TRUE(is_host_name("gpu-7.rack_1"));
}

}  // namespace
}  // namespace dlaunch::launcher
