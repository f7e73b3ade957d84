#include "launcher/hosts_command.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

std::string run(const std::vector<std::string>& arguments) {
    const auto text = hosts_text(arguments);
    return text ? *text : text.error().text;
}

TEST(HostsCommand, PrintsANamePerLine) {
    EXPECT_EQ(run({"n[1-2]", "m1,m2", "n1"}), "n1\nn2\nm1\nm2\nn1\n") << "several lists are one";
    EXPECT_EQ(run({"ann@n[1-2]:4"}), "ann@n1:4\nann@n2:4\n");
}

TEST(HostsCommand, Compresses) {
    EXPECT_EQ(run({"--compress", "n1", "n[2-3]", "n4"}), "n[1-4]\n");
    EXPECT_EQ(run({"n1,n2", "--compress"}), "n[1-2]\n");
}

TEST(HostsCommand, EachListIsWhole) {
    EXPECT_EQ(run({"n[1", "2]"}), "n[1: expected brackets in pairs, without brackets inside");
}

TEST(HostsCommand, TheLimitHoldsForAllListsTogether) {
    EXPECT_EQ(run({"n[1-100000]", "m[1-100000]"}), "m[1-100000]: too many names, expected at most 131072 in all");
}

TEST(HostsCommand, RefusesOtherOptionsAndNoNames) {
    EXPECT_EQ(run({"--compres", "n1"}), "unknown option --compres, expected --compress or --help");
    for (const auto& arguments : {std::vector<std::string>{}, {"--compress"}, {"--"}})
        EXPECT_EQ(run(arguments), "no names, expected dlaunch hosts LIST..., as node[01-03,7],login");
    EXPECT_FALSE(hosts_text({""}));
    EXPECT_NE(run({"--", "--compress"}).find("--compress: expected a name"), std::string::npos);
}

TEST(HostsCommand, HelpHasItsOptions) {
    EXPECT_TRUE(run({"n1", "-h"}).starts_with("Usage: dlaunch hosts"));
    EXPECT_NE(run({"--help"}).find("--compress"), std::string::npos);
}

}  // namespace
}  // namespace dlaunch::launcher
