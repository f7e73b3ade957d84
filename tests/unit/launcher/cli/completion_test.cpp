#include "launcher/cli/completion.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "launcher/cli/subcommands.hpp"
#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

std::set<std::string> names_of_table() {
    std::set<std::string> names;
    for (const Option& option : all_options()) names.emplace(option.name);
    return names;
}

/// The first group of every match.
std::set<std::string> found(const std::string& text, const std::string& pattern) {
    std::set<std::string> names;
    const std::regex wanted(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at) names.insert((*at)[1].str());
    return names;
}

/// Exactly the table's options, no more and no fewer.
TEST(Completion, OffersTheTable) {
    std::string bash = completion_script("bash");
    std::smatch names;
    ASSERT_TRUE(std::regex_search(bash, names, std::regex("names='([^']*)'")));
    EXPECT_EQ(found(names[1].str(), "--([a-z-]+)"), names_of_table());
    const std::string zsh = completion_script("zsh");
    const std::string after_subcommands = zsh.substr(zsh.rfind("_arguments -s -S"));
    EXPECT_EQ(found(after_subcommands, "'\\*--([a-z-]+)=?\\["), names_of_table());
    EXPECT_EQ(found(completion_script("fish"), "-c dlaunch -n __dlaunch_before_(?:first_)?program -l ([a-z-]+)"),
              names_of_table());
}

TEST(Completion, OffersTheSubcommands) {
    for (const char* shell : {"bash", "zsh", "fish"})
        EXPECT_NE(
            completion_script(shell).find("backends check coordinator hosts logs ps status stop store token version"),
            std::string::npos)
            << shell;
}

TEST(Completion, OffersTheOptionsOfASubcommandAndNoOthers) {
    for (const Subcommand& command : subcommands()) {
        std::set<std::string> names;
        for (const Option* option : command.options) {
            ASSERT_TRUE(option) << command.name;
            names.emplace(option->name);
        }
        const std::string name(command.name);
        std::smatch bash;
        const std::string script = completion_script("bash");
        ASSERT_TRUE(std::regex_search(script, bash, std::regex(name + "\\) command=" + name + " names='([^']*)'")));
        EXPECT_EQ(found(bash[1].str(), "--([a-z-]+)"), names);
        EXPECT_EQ(found(completion_script("fish"), "-c dlaunch -n '__dlaunch_in " + name + "' -l ([a-z-]+)"), names);
    }
}

TEST(Completion, OffersChoices) {
    EXPECT_NE(completion_script("bash").find(
                  "--nproc-per-node) mapfile -t COMPREPLY < <(compgen -W 'auto cpu gpu xpu hpu npu'"),
              std::string::npos);
    EXPECT_NE(completion_script("zsh").find(":(auto cpu gpu xpu hpu npu)'"), std::string::npos);
    EXPECT_NE(completion_script("fish").find("-l nproc-per-node -x -a 'auto cpu gpu xpu hpu npu'"), std::string::npos);
}

TEST(Completion, LeavesNoPlaceholder) {
    for (const char* shell : {"bash", "zsh", "fish"})
        EXPECT_FALSE(std::regex_search(completion_script(shell), std::regex("@[A-Z]+@"))) << shell;
}

}  // namespace
}  // namespace dlaunch::launcher
