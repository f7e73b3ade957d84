#include "launcher/cli/parse.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

base::Result<Settings> parsed(const std::vector<std::string>& words) { return parse(normalize(words)->options); }

TEST(Parse, TheLastValueApplies) {
    auto settings = parsed({"--role=a", "--role=b", "--role", "c"});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->program.role, "c");
    EXPECT_EQ(settings->spelling("role"), "--role=c");
    EXPECT_EQ(settings->spelling("nnodes"), "--nnodes");
}

TEST(Parse, TwoNamesOfOneOptionAreOneOption) {
    EXPECT_EQ(parsed({"--grace=1.5", "--shutdown-timeout=7"})->plan.grace, 7s);
    EXPECT_EQ(parsed({"--shutdown-timeout=7", "--grace=1.5"})->plan.grace, 1500ms);
    EXPECT_EQ(parsed({"--bind=cores", "--numa-binding=node"})->plan.binding, agent::Binding::numa);
}

TEST(Parse, RepeatableOptionsKeepAllValues) {
    auto settings = parsed({"--env=A=1", "--env", "B=[2,3]", "--wrap=0:gdb", "--wrap=1:time"});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->program.environment,
              (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "[2,3]"}}));
    EXPECT_EQ(settings->program.wraps.size(), 2U);
}

TEST(Parse, TakesValuesAsTheyAre) {
    for (const char* value : {"[1,2]", "--x", "a b", "{}", "%%", "'q'", "\"q\"", "=", "++", "\xff"})
        EXPECT_EQ(parsed({std::string("--role=") + value})->program.role, value);
}

TEST(Parse, EveryValueMustBeValid) {
    EXPECT_EQ(parsed({"--tee=x", "--tee=1"}).error().text.substr(0, 17), "--tee=x: expected");
    EXPECT_EQ(parsed({"--env=A=1", "--env=B"}).error().text, "--env=B: expected NAME=VALUE");
}

TEST(Parse, EmptyValuesAreValues) {
    EXPECT_EQ(parsed({"--nproc-per-node="}).error().text,
              "--nproc-per-node=: expected a number of workers from 1, cpu, gpu, xpu, hpu, npu or auto");
    EXPECT_EQ(parsed({"--nproc-per-node", "", "--standalone"}).error().text,
              "--nproc-per-node=: expected a number of workers from 1, cpu, gpu, xpu, hpu, npu or auto");
    EXPECT_FALSE(parsed({"--local-ranks-filter="})->plan.logs.shown.has_value()) << "torchrun's default";
    EXPECT_EQ(parsed({"--log-line-prefix-template="})->plan.logs.prefix_template, "[${role_name}${local_rank}]:");
}

TEST(Parse, Switches) {
    EXPECT_TRUE(parsed({"--standalone"})->standalone);
    EXPECT_FALSE(parsed({"--standalone", "--standalone=0"})->standalone);
    EXPECT_EQ(parsed({"-q=maybe"}).error().text, "-q=maybe: expected 1 or 0");
}

TEST(Parse, SignalsThatAreUnknownWarn) {
    auto settings = parsed({"--signals-to-handle=SIGTERM,SIGNOPE"});
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->plan.handled_signals, std::vector<int>{15});
    EXPECT_EQ(settings->plan.handled_signals_text, "SIGTERM,SIGNOPE");
    EXPECT_EQ(settings->warnings, std::vector<std::string>{
                                      "--signals-to-handle=SIGTERM,SIGNOPE: 'SIGNOPE' is not a signal and is ignored"});
}

/// Every option with a value refuses some value, and the error names the option and the expected form.
TEST(Parse, BadValuesNameTheirOption) {
    for (const Option& option : all_options()) {
        const std::set<std::string_view> take_any_text{"duplicate-stdout-filters", "duplicate-stderr-filters",
                                                       "log-line-prefix-template", "role", "launcher-args"};
        if (take_any_text.contains(option.name) || !option.set) continue;
        bool takes_any_name = option.name == "signals-to-handle" || option.name == "rdzv-id" || option.value == "DIR" ||
                              option.value == "FILE" || option.value == "COMMAND";
        std::string word = "--" + std::string(option.name) + (takes_any_name ? "=" : "=\x01?");
        auto wrong = parsed({word});
        ASSERT_FALSE(wrong) << word;
        EXPECT_TRUE(wrong.error().text.starts_with("--" + std::string(option.name) + "=")) << wrong.error().text;
        EXPECT_NE(wrong.error().text.find(": expected "), std::string::npos) << wrong.error().text;
        EXPECT_EQ(wrong.error().status, 2);
    }
}

}  // namespace
}  // namespace dlaunch::launcher
