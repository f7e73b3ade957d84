#include "launcher/cli/sources.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

std::string shown(const std::vector<OptionUse>& uses) {
    std::string text;
    for (const OptionUse& use : uses)
        text += (text.empty() ? "" : " ") + std::string(use.option->name) + "=" + use.value;
    return text;
}

std::string config(const std::string& text) {
    auto uses = read_config("job.conf", text);
    return uses ? shown(*uses) : uses.error().text;
}

TEST(Variables, EachToItsSource) {
    Sources sources;
    read_variables({{"DLAUNCH_TEE", "1"},
                    {"PET_TEE", "2"},
                    {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "3"},
                    {"HOME", "/"},
                    {"PET_NNODES", ""},
                    {"PET_ROLE", ""}},
                   sources);
    EXPECT_EQ(shown(sources.own_variables), "tee=1");
    EXPECT_EQ(shown(sources.pet_variables), "tee=2 role=") << "only a role may be empty";
    EXPECT_EQ(shown(sources.other_variables), "shutdown-timeout=3");
    EXPECT_EQ(sources.pet_variables[0].spelling, "PET_TEE=2");
}

TEST(Variables, OneValuePerLineForRepeatableOptions) {
    Sources sources;
    read_variables({{"DLAUNCH_ENV", "A=1 2\nB=3\n"}}, sources);
    EXPECT_EQ(shown(sources.own_variables), "env=A=1 2 env=B=3");
}

TEST(Config, KeysInBothSpellings) {
    EXPECT_EQ(config("nproc-per-node=3\nnproc_per_node = 4\n"), "nproc-per-node=3 nproc-per-node=4");
}

TEST(Config, QuotesAndCommentsAndBlankLines) {
    EXPECT_EQ(config("# a comment\n\n; another\n  role = \"my # role\"  # why\r\nlog-dir='a b'\n"),
              "role=my # role log-dir=a b");
}

TEST(Config, ValuesAreNotSplit) {
    EXPECT_EQ(config("signals-to-handle = SIGTERM,SIGINT\nlog-dir = a b\nrdzv-conf=a=1,b=2\n"),
              "signals-to-handle=SIGTERM,SIGINT log-dir=a b rdzv-conf=a=1,b=2");
}

TEST(Config, Switches) {
    EXPECT_EQ(config("standalone\ntimestamps = true\nfold=0\n"), "standalone=true timestamps=true fold=0");
}

TEST(Config, ArraysForRepeatableOptions) {
    EXPECT_EQ(config("env = [\"A=1,2\", 'B=3']\n"), "env=A=1,2 env=B=3");
    EXPECT_EQ(config("env = [\n  \"A=1\",\n  \"B=2\"\n]\nrole=x\n"), "env=A=1 env=B=2 role=x");
    EXPECT_EQ(config("role = [\"a\", \"b\"]\n"), "job.conf:1: role with 2 values, expected one");
}

TEST(Config, IsStrict) {
    EXPECT_EQ(config("role=a\nnproc-per-mode=3\n"),
              "job.conf:2: unknown key nproc-per-mode, expected the name of an option; did you mean nproc-per-node?");
    EXPECT_EQ(config("nproc=3\n"),
              "job.conf:1: unknown key nproc, expected the name of an option; did you mean nproc-per-node?")
        << "no abbreviations in files";
    EXPECT_EQ(config("a.b=3\n"), "job.conf:1: unknown key a.b, expected the name of an option");
    EXPECT_EQ(config("[dlaunch]\nrole=a\n"),
              "job.conf:1: section [dlaunch], expected key = value lines without sections");
    EXPECT_EQ(config("role\n"), "job.conf:1: role without a value, expected role = NAME");
    EXPECT_EQ(config("x\n"), "job.conf:1: 'x', expected key = value") << "CLI11 alone would skip so short a line";
    EXPECT_EQ(config("=3\n"), "job.conf:1: '=3', expected key = value");
    EXPECT_EQ(config("help\n"), "job.conf:1: unknown key help, expected the name of an option");
    EXPECT_EQ(config("config=other\n"), "job.conf:1: unknown key config, expected the name of an option");
}

TEST(Config, SpellingNamesFileAndLine) {
    auto uses = read_config("dir/job.conf", "\ntee=7\n");
    ASSERT_TRUE(uses);
    EXPECT_EQ(uses->at(0).spelling, "dir/job.conf:2: tee=7");
}

TEST(Strongest, OneSourcePerOption) {
    auto given = [](const char* name, const char* value) { return OptionUse{find_option(name), value, value}; };
    Sources sources;
    sources.command_line = {given("tee", "1"), given("tee", "2")};
    sources.own_variables = {given("tee", "3"), given("role", "own")};
    sources.pet_variables = {given("role", "pet"), given("nnodes", "1")};
    sources.other_variables = {given("nnodes", "2"), given("shutdown-timeout", "3")};
    sources.file = {given("grace", "4"), given("log-dir", "file"), given("env", "A=1"), given("env", "B=2")};
    EXPECT_EQ(shown(strongest(sources)),
              "tee=1 tee=2 role=own nnodes=1 shutdown-timeout=3 log-dir=file env=A=1 env=B=2")
        << "--grace and --shutdown-timeout are one option";
}

}  // namespace
}  // namespace dlaunch::launcher
