#include "launcher/command_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/cli/table.hpp"
#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

using Kind = Invocation::Kind;
using Words = std::vector<std::string>;

base::Result<Invocation> read(Words words, const Deps& machine = small_machine()) {
    words.insert(words.begin(), "dlaunch");
    return read_command_line(words, machine);
}

std::string error(const Words& words, const Deps& machine = small_machine()) {
    auto invocation = read(words, machine);
    return invocation ? "" : invocation.error().text;
}

Deps with_file(const std::string& path, const std::string& text,
               std::vector<std::pair<std::string, std::string>> environment = {}) {
    Deps machine = small_machine(std::move(environment));
    machine.read_file = [path, text](const std::string& asked) {
        return asked == path ? base::Result<std::string>(boost::system::in_place_value, text)
                             : base::Result<std::string>(base::Error{"Is a directory"});
    };
    return machine;
}

TEST(CommandLine, RunsAProgram) {
    auto invocation = read({"--nproc-per-node=2", "p", "--help"});
    ASSERT_TRUE(invocation);
    EXPECT_EQ(invocation->kind, Kind::run);
    EXPECT_EQ(invocation->plan.workers(), 2);
    EXPECT_EQ(invocation->plan.contexts[0].program.command, (Words{"p", "--help"}));
}

TEST(CommandLine, RunsSeveralProgramsSideBySide) {
    auto invocation = read({"-n", "1", "a", ":", "-n", "2", "b", "x"});
    ASSERT_TRUE(invocation);
    ASSERT_EQ(invocation->plan.contexts.size(), 2U);
    EXPECT_EQ(invocation->plan.workers(), 3);
    EXPECT_EQ(invocation->plan.contexts[1].program.command, (Words{"b", "x"}));
    EXPECT_EQ(error({"a", ":"}).substr(0, 14), "program 2 of 2");
    EXPECT_EQ(read({"a", ":", "--help"})->kind, Kind::print);
}

TEST(CommandLine, UnderTheNameTorchrunAColonIsAnArgument) {
    auto invocation = read_command_line({"/bin/torchrun", "--no-python", "a", ":", "b"}, small_machine());
    ASSERT_TRUE(invocation) << invocation.error().text;
    ASSERT_EQ(invocation->plan.contexts.size(), 1U);
    EXPECT_EQ(invocation->plan.contexts[0].program.command, (Words{"a", ":", "b"}));
}

TEST(CommandLine, VariablesAndTheFileGiveTheDefaultsOfEveryContext) {
    const auto plan = read({"--config=f", "--role=x", "a", ":", "--env=B=2", "b"},
                           with_file("f", "env=[\"A=1\"]\nmax-restarts=2\n", {{"PET_NPROC_PER_NODE", "3"}}))
                          ->plan;
    EXPECT_EQ(plan.contexts[0].workers, 3);
    EXPECT_EQ(plan.contexts[1].workers, 3);
    EXPECT_EQ(plan.contexts[0].program.environment, (agent::Variables{{"A", "1"}}));
    EXPECT_EQ(plan.contexts[1].program.environment, (agent::Variables{{"B", "2"}})) << "the command line is stronger";
    EXPECT_EQ(plan.contexts[1].program.role, "b");
    EXPECT_EQ(plan.restarts.max_restarts, 2);
    const auto roles = read({"a", ":", "--role=y", "b"}, small_machine({{"DLAUNCH_ROLE", "x"}}))->plan.contexts;
    EXPECT_EQ(roles[0].program.role + roles[1].program.role, "xy");
}

TEST(CommandLine, OptionsThatPrintATextNeedNoProgram) {
    for (const Words& words :
         {Words{"--help"}, {"-h"}, {"--version"}, {"-V"}, {"version"}, {"--print-completion=bash"}}) {
        auto invocation = read(words);
        ASSERT_TRUE(invocation) << words[0];
        EXPECT_EQ(invocation->kind, Kind::print);
        EXPECT_FALSE(invocation->output.empty());
    }
    EXPECT_EQ(error({"--print-completion=tcsh"}), "--print-completion=tcsh: expected bash, zsh or fish");
}

TEST(CommandLine, VersionIsASubcommandOnlyInFront) {
    EXPECT_EQ(read({"--standalone", "version"})->plan.contexts[0].program.command, Words{"version"});
    EXPECT_EQ(read({"--", "version"})->plan.contexts[0].program.command, Words{"version"});
}

TEST(CommandLine, NamesOfLaterSubcommandsAreProgramsToday) {
    EXPECT_EQ(read({"status"})->plan.contexts[0].program.command, Words{"status"});
}

TEST(CommandLine, CommandLineThenOwnVariableThenPetThenFileThenDefault) {
    auto role = [](const Words& words, std::vector<std::pair<std::string, std::string>> environment) {
        Words all{"--config=f"};
        all.insert(all.end(), words.begin(), words.end());
        all.push_back("p");
        return read(all, with_file("f", "role=file\n", std::move(environment)))->plan.contexts[0].program.role;
    };
    EXPECT_EQ(role({"--role=line"}, {{"DLAUNCH_ROLE", "own"}, {"PET_ROLE", "pet"}}), "line");
    EXPECT_EQ(role({}, {{"PET_ROLE", "pet"}, {"DLAUNCH_ROLE", "own"}}), "own");
    EXPECT_EQ(role({}, {{"PET_ROLE", "pet"}}), "pet");
    EXPECT_EQ(role({}, {{"PET_ROLE", ""}}), "") << "as torchrun";
    EXPECT_EQ(role({}, {}), "file");
    EXPECT_EQ(read({"p"})->plan.contexts[0].program.role, "default");
}

TEST(CommandLine, OtherVariablesStandBelowPet) {
    auto grace = [](std::vector<std::pair<std::string, std::string>> environment) {
        return read({"p"}, small_machine(std::move(environment)))->plan.grace.count();
    };
    EXPECT_EQ(grace({{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}}), 7000);
    EXPECT_EQ(grace({{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}, {"PET_SHUTDOWN_TIMEOUT", "8"}}), 8000);
    EXPECT_EQ(grace({{"PET_SHUTDOWN_TIMEOUT", "8"}, {"DLAUNCH_GRACE", "9"}}), 9000);
}

TEST(CommandLine, ErrorsNameTheSourceOfTheValue) {
    EXPECT_EQ(error({"p"}, small_machine({{"PET_NPROC_PER_NODE", "many"}})),
              "PET_NPROC_PER_NODE=many: expected a number of workers from 1, cpu, gpu, xpu, hpu, npu or auto");
    EXPECT_EQ(error({"p"}, small_machine({{"PET_STANDALONE", "maybe"}})), "PET_STANDALONE=maybe: expected 1 or 0");
    EXPECT_EQ(error({"--config=f", "p"}, with_file("f", "tee=7\n")).substr(0, 14), "f:1: tee=7: ex");
    EXPECT_TRUE(error({"p"}, small_machine({{"PET_NPROC_PER_NODE", "gpu"}}))
                    .starts_with("PET_NPROC_PER_NODE=gpu: expected a GPU"));
}

TEST(CommandLine, AnOverriddenInvalidValueIsIgnored) {
    EXPECT_EQ(read({"--nproc-per-node=2", "p"}, small_machine({{"PET_NPROC_PER_NODE", "many"}}))->plan.workers(), 2);
}

TEST(CommandLine, ConfigFiles) {
    EXPECT_EQ(read({"p"}, with_file("f", "role=file\n", {{"DLAUNCH_CONFIG", "f"}}))->plan.contexts[0].program.role,
              "file");
    EXPECT_EQ(read({"--config=f", "p"}, with_file("f", "role=file\n", {{"DLAUNCH_CONFIG", "g"}}))
                  ->plan.contexts[0]
                  .program.role,
              "file");
    EXPECT_EQ(error({"--config=g", "p"}, with_file("f", "")),
              "--config=g: cannot be read (Is a directory), expected a file of key = value lines");
    EXPECT_EQ(error({"--config=f", "p"}, with_file("f", "no-such-key=3\n")),
              "f:1: unknown key no-such-key, expected the name of an option");
}

TEST(CommandLine, ErrorsAreOneLineForAnyInput) {
    for (const Words& words : {Words{"--a\nb"},
                               {"--nproc-per-node=a\nb", "p"},
                               {"--rd\n=1"},
                               {"-\n"},
                               {"-r", "\r\n", "p"},
                               {"--config=a\nb", "p"}}) {
        std::string text = error(words);
        EXPECT_FALSE(text.empty());
        EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) << text;
        EXPECT_NE(text.find("expected"), std::string::npos) << text;
    }
}

TEST(CommandLine, DryRunPrints) {
    auto invocation = read({"--dry-run", "p"});
    ASSERT_TRUE(invocation);
    EXPECT_EQ(invocation->kind, Kind::print);
    EXPECT_TRUE(invocation->output.starts_with("{"));
    EXPECT_NE(error({"--dry-run", "--nproc-per-node=banana", "p"}), "");
}

TEST(CommandLine, WarningsAreLines) {
    EXPECT_EQ(read({"--signals-to-handle=TERM,NOPE", "--wrap=3:gdb", "p"})->warnings.size(), 2U);
    EXPECT_EQ(read({"-n", "2", "--wrap=1:/usr/bin/gdb --args", "p"})->warnings,
              std::vector<std::string>{"--wrap: /usr/bin/gdb reads its commands from standard input: add --stdin=1"});
    EXPECT_EQ(read({"-n", "2", "--wrap=1:gdb --args", "--stdin=1", "p"})->warnings.size(), 0U);
    EXPECT_EQ(read({"-n", "2", "--wrap=1:gdb -batch -ex run --args", "p"})->warnings.size(), 0U);
    EXPECT_EQ(read({"--wrap=0:gdb --args", "p"})->warnings.size(), 0U);
}

/// The default in --help and the man page is the behaviour without the option.
TEST(CommandLine, DefaultsOfTheTableAreTheDefaults) {
    std::string bare = read({"--dry-run", "p"})->output;
    for (const Option& option : all_options()) {
        if (option.fallback.empty()) continue;
        auto same = read({"--dry-run", "--" + std::string(option.name) + "=" + std::string(option.fallback), "p"});
        ASSERT_TRUE(same) << same.error().text;
        EXPECT_EQ(same->output, bare) << option.name;
    }
}

}  // namespace
}  // namespace dlaunch::launcher
