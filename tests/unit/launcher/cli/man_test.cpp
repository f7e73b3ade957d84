#include "launcher/cli/man.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

const std::string kPage = DLAUNCH_SOURCE_DIR "/man/dlaunch.1";
const std::string kVariablesPage = DLAUNCH_SOURCE_DIR "/man/dlaunch-env.7";

std::string read_page(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Position and length of the text between two marker lines.
std::pair<std::size_t, std::size_t> place(const std::string& page, const std::string& what) {
    std::string begin = ".\\\" begin " + what + "\n", end = ".\\\" end " + what + "\n";
    std::size_t first = page.find(begin), last = page.find(end);
    if (first == std::string::npos || last == std::string::npos) return {0, 0};
    first += begin.size();
    return {first, last - first};
}

void compare(const std::string& path, const std::string& what, const std::string& wanted) {
    std::string page = read_page(path);
    auto [first, length] = place(page, what);
    ASSERT_NE(first, 0U) << path << " has lost its markers";
    if (std::getenv("DLAUNCH_RENEW_MAN")) {
        page.replace(first, length, wanted);
        std::ofstream(path) << page;
        return;
    }
    EXPECT_EQ(page.substr(first, length), wanted) << "run this test with DLAUNCH_RENEW_MAN=1 to renew the page";
}

TEST(Man, OptionsAreTheTables) { compare(kPage, "options", man_options()); }

TEST(Man, VariablesAreTheTables) { compare(kVariablesPage, "variables", man_variables()); }

TEST(Man, OptionsHoldTheWholeTable) {
    std::string text = man_options();
    for (const Option& option : all_options()) {
        std::string name;
        for (char c : option.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
        EXPECT_NE(text.find("\\fB\\-\\-" + name + "\\fR"), std::string::npos) << option.name;
    }
    EXPECT_NE(text.find("Default: 1:1.\n"), std::string::npos);
}

TEST(Man, VariablesHoldTheWholeTable) {
    std::string text = man_variables();
    for (const Option& option : all_options())
        for (const std::string& name : option.variables()) EXPECT_NE(text.find(name), std::string::npos) << name;
}

TEST(Man, NoLineOfTextLooksLikeARequest) {
    std::istringstream lines(man_options() + man_variables());
    for (std::string line; std::getline(lines, line);) {
        bool request = line.starts_with(".SS ") || line == ".TP" || line == ".TQ" || line.starts_with(".B ");
        EXPECT_TRUE(request || (line[0] != '.' && line[0] != '\'')) << line;
        EXPECT_LE(line.size(), 100U) << line;
    }
}

}  // namespace
}  // namespace dlaunch::launcher
