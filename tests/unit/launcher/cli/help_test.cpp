#include "launcher/cli/help.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

TEST(Help, FitsIn100Columns) {
    std::istringstream lines(help_text());
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 100U) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
    }
}

/// The text has every option of the table, and no other.
TEST(Help, ListsTheTable) {
    std::string text = help_text();
    std::set<std::string> listed;
    const std::regex heading("\n  (-([a-zA-Z]), |    )--([a-z-]+)( (\\S+))?(  |\n)");
    for (std::sregex_iterator at(text.begin(), text.end(), heading), end; at != end; ++at) {
        const Option* option = find_option((*at)[3].str());
        ASSERT_TRUE(option) << (*at)[3];
        EXPECT_EQ(option->letter ? std::string(1, option->letter) : "", (*at)[2].str());
        EXPECT_EQ(option->value, (*at)[5].str());
        EXPECT_TRUE(listed.insert((*at)[3].str()).second);
    }
    EXPECT_EQ(listed.size(), all_options().size());
}

TEST(Help, PrintsDefaults) {
    std::string flat = std::regex_replace(help_text(), std::regex("\\s+"), " ");
    for (const Option& option : all_options()) {
        std::string wanted =
            std::string(option.help) + (option.fallback.empty() ? "" : " [" + std::string(option.fallback) + "]");
        EXPECT_NE(flat.find(wanted), std::string::npos) << wanted;
    }
}

TEST(Version, IsOneLineWithTheVersion) {
    std::string text = version_text();
    EXPECT_TRUE(text.starts_with("dlaunch " DLAUNCH_VERSION " "));
    EXPECT_EQ(text.find('\n'), text.size() - 1);
}

}  // namespace
}  // namespace dlaunch::launcher
