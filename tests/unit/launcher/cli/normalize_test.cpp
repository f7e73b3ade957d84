#include "launcher/cli/normalize.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

/// "nproc-per-node=2 standalone=1 | prog a": options by table name, then the program; or the error's text.
std::string read(const Words& words) {
    auto line = normalize(words);
    if (!line) return line.error().text;
    std::string text;
    for (const OptionUse& use : line->options) text += std::string(use.option->name) + "=" + use.value + " ";
    text += "|";
    for (const std::string& word : line->program) text += " " + word;
    return text;
}

TEST(Normalize, DashesOrUnderscoresEqualsOrBlank) {
    for (const Words& words : {Words{"--nproc-per-node=2", "p"},
                               {"--nproc-per-node", "2", "p"},
                               {"--nproc_per_node=2", "p"},
                               {"--nproc_per_node", "2", "p"},
                               {"--nproc_per-node=2", "p"}})
        EXPECT_EQ(read(words), "nproc-per-node=2 | p");
}

TEST(Normalize, ValuesAreKeptByteForByte) {
    EXPECT_EQ(read({"--role==", "p"}), "role== | p");
    EXPECT_EQ(read({"--role=", "p"}), "role= | p");
    EXPECT_EQ(read({"--role", "", "p"}), "role= | p");
    EXPECT_EQ(read({"--role=[1,2]", "p"}), "role=[1,2] | p");
}

TEST(Normalize, ShortOptions) {
    EXPECT_EQ(read({"-r3", "p"}), "redirects=3 | p");
    EXPECT_EQ(read({"-r", "3", "p"}), "redirects=3 | p");
    EXPECT_EQ(read({"-r=3", "p"}), "redirects=3 | p");
    EXPECT_EQ(read({"-m", "p"}), "module=1 | p");
    EXPECT_EQ(read({"-mqr3", "p"}), "module=1 quiet=1 redirects=3 | p");
    EXPECT_EQ(read({"-q=0", "p"}), "quiet=0 | p");
}

TEST(Normalize, SwitchesTakeNoNextWord) {
    EXPECT_EQ(read({"--standalone", "1"}), "standalone=1 | 1");
    EXPECT_EQ(read({"--standalone=0", "p"}), "standalone=0 | p");
}

TEST(Normalize, BeginningsOfNames) {
    EXPECT_EQ(read({"--nproc-p=2", "p"}), "nproc-per-node=2 | p");
    EXPECT_EQ(read({"--nproc_per", "2", "p"}), "nproc-per-node=2 | p");
    EXPECT_EQ(read({"--redirect=3", "p"}), "redirects=3 | p");
    EXPECT_EQ(read({"--node=1", "p"}), "node-rank=1 | p") << "our --node-timeout must not make it ambiguous";
    EXPECT_EQ(read({"--crash=1", "p"}), "crash-loop=1 | p");
    EXPECT_EQ(read({"--time", "p"}), "--time: ambiguous, expected one of --timeout, --timestamps");
    EXPECT_EQ(read({"--timeout=1", "p"}), "timeout=1 | p") << "a whole name is never ambiguous";
    EXPECT_EQ(read({"--rdzv=1", "p"}),
              "--rdzv=1: ambiguous, expected one of --rdzv-backend, --rdzv-endpoint, --rdzv-id, --rdzv-conf");
}

TEST(Normalize, WordsAfterTheProgramAreLeftAlone) {
    EXPECT_EQ(read({"--nnodes=1", "p", "--nnodes=2", "-r", "3", "--", "--help"}),
              "nnodes=1 | p --nnodes=2 -r 3 -- --help");
    EXPECT_EQ(read({"--", "--nnodes", "--"}), "| --nnodes --");
    EXPECT_EQ(read({"-", "x"}), "| - x");
    EXPECT_EQ(read({"", "x"}), "|  x");
    EXPECT_EQ(read({}), "|");
    EXPECT_EQ(read({"--"}), "|");
}

TEST(Normalize, UnknownOptions) {
    EXPECT_EQ(
        read({"--nproc-per-mode=2", "p"}),
        "unknown option --nproc-per-mode=2, expected an option of dlaunch --help; did you mean --nproc-per-node?");
    EXPECT_EQ(read({"--xyzzy", "p"}), "unknown option --xyzzy, expected an option of dlaunch --help");
    EXPECT_EQ(read({"-nproc=3", "p"}),
              "unknown option -nproc=3, expected an option of dlaunch --help; did you mean --nproc-per-node?");
    EXPECT_EQ(read({"-z", "p"}), "unknown option -z, expected an option of dlaunch --help");
    EXPECT_EQ(read({"--=3", "p"}), "unknown option --=3, expected an option of dlaunch --help");
}

TEST(Normalize, AMissingValueNamesTheOption) {
    std::string wanted = "--nproc-per-node without a value, expected --nproc-per-node=N|auto|cpu|gpu|xpu|hpu|npu";
    EXPECT_EQ(read({"--nproc-per-node"}), wanted);
    EXPECT_EQ(read({"--nproc-per-node", "--standalone", "p"}), wanted);
    EXPECT_EQ(read({"--nproc-per-node", "--", "p"}), wanted);
    EXPECT_EQ(read({"--nproc", "-m", "p"}), wanted) << "the whole name, whatever was typed";
    EXPECT_EQ(read({"-r", "-m", "p"}), "-r without a value, expected -r 0|1|2|3|RANK:N,...");
}

TEST(Normalize, NumbersBelowZeroAndTextWithBlanksAreValues) {
    EXPECT_EQ(read({"--max-restarts", "-1", "p"}), "max-restarts=-1 | p");
    EXPECT_EQ(read({"--monitor-interval", "-.5", "p"}), "monitor-interval=-.5 | p");
    EXPECT_EQ(read({"--log-line-prefix-template", "- ${rank}", "p"}), "log-line-prefix-template=- ${rank} | p");
}

TEST(Normalize, SpellingIsHowItWasTyped) {
    auto line = normalize({"--nproc_per_node", "2", "--role=x", "-r3", "--redir", "1", "--standalone"});
    ASSERT_TRUE(line);
    Words spellings;
    for (const OptionUse& use : line->options) spellings.push_back(use.spelling);
    EXPECT_EQ(spellings, (Words{"--nproc_per_node=2", "--role=x", "-r 3", "--redirects=1", "--standalone"}));
}

TEST(Spelled, IsOneLineAndNotEndless) {
    EXPECT_EQ(spelled("--role", "=", "a\nb\tc\x01"), "--role=a\\nb\\tc\\x01");
    std::string text = spelled("--role", "=", std::string(100'000, 'x') + "end");
    EXPECT_LT(text.size(), 250U);
    EXPECT_TRUE(text.ends_with("xend"));
}

}  // namespace
}  // namespace dlaunch::launcher
