#include "launcher/cli/contexts.hpp"

#include <gtest/gtest.h>

#include "rendezvous/wire/rank_layout.hpp"

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

std::vector<Words> programs(const Words& words) {
    std::vector<Words> found;
    for (const Normalized& context : *normalize_contexts(words)) found.push_back(context.program);
    return found;
}

std::string error(const Words& words) {
    auto contexts = normalize_contexts(words);
    if (!contexts) return contexts.error().text;
    auto fine = check_contexts(*contexts);
    return fine ? "" : fine.error().text;
}

TEST(Contexts, ALoneColonSeparatesThem) {
    EXPECT_EQ(programs({"-n", "1", "a", "x", ":", "-n", "2", "b", ":", "c"}),
              (std::vector<Words>{{"a", "x"}, {"b"}, {"c"}}));
    EXPECT_EQ(programs({"a", "--", ":", "b"}), (std::vector<Words>{{"a", "--"}, {"b"}}));
    EXPECT_EQ(error({"-n", "1", "a", "x", ":", "-n", "2", "b", ":", "c"}), "");
}

TEST(Contexts, WordsThatContainAColonDoNot) {
    EXPECT_EQ(programs({"a", "::", ":x", "x:", "a:b", ": ", ""}),
              (std::vector<Words>{{"a", "::", ":x", "x:", "a:b", ": ", ""}}));
    EXPECT_EQ(programs({"--wrap=0:gdb", "a"}), std::vector<Words>{{"a"}});
}

TEST(Contexts, EachHasOptionsOfItsOwn) {
    const auto contexts = *normalize_contexts({"-n", "1", "a", ":", "--role=w", "--env", "A=1", "b"});
    ASSERT_EQ(contexts.size(), 2U);
    EXPECT_EQ(contexts[0].options.size(), 1U);
    ASSERT_EQ(contexts[1].options.size(), 2U);
    EXPECT_EQ(contexts[1].options[0].spelling, "--role=w");
}

TEST(Contexts, EachHasAProgram) {
    const std::string both = " is missing, expected [OPTIONS] PROGRAM [ARGS...] on both sides of each ':'";
    EXPECT_EQ(error({"a", ":"}), "program 2 of 2" + both);
    EXPECT_EQ(error({":", "a"}), "program 1 of 2" + both);
    EXPECT_EQ(error({"a", ":", ":", "b"}), "program 2 of 3" + both);
    EXPECT_EQ(error({"a", ":", "-n", "2"}), "program 2 of 2" + both);
    EXPECT_EQ(error({":"}), "program 1 of 2" + both);
    EXPECT_EQ(error({"-n", "2"}), "") << "the plan's error";
}

TEST(Contexts, OptionsOfTheJobStandInTheFirst) {
    EXPECT_EQ(error({"--max-restarts=1", "a", ":", "b"}), "");
    EXPECT_EQ(error({"a", ":", "--max-restarts=1", "b"}),
              "--max-restarts=1 after a ':', expected before the first program: it is an option of the whole job");
    for (const char* option : {"--nproc-per-node=2", "-n2", "--role=x", "--env=A=1", "--chdir=/", "--wrap=all:nice"})
        EXPECT_EQ(error({"a", ":", option, "b"}), "") << option;
    EXPECT_TRUE(error({"a", ":", "--max-restats=1", "b"}).starts_with("unknown option --max-restats=1"));
}

TEST(Contexts, HaveALimit) {
    Words words{"a"};
    for (std::size_t more = 1; more < rendezvous::kMostContexts; ++more) words.insert(words.end(), {":", "a"});
    EXPECT_EQ(error(words), "");
    words.insert(words.end(), {":", "a"});
    EXPECT_EQ(error(words), "more than 1024 programs, expected fewer ':' on the command line");
}

}  // namespace
}  // namespace dlaunch::launcher
