#include "launcher/cli/values.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using Kind = WorkerCount::Kind;

TEST(WholeNumber, TakesDigitsWithBlanksAround) {
    EXPECT_EQ(whole_number("7", 0, 10), 7);
    EXPECT_EQ(whole_number(" 7\n", 0, 10), 7);
    EXPECT_EQ(whole_number("-3", -5, 10), -3);
}

TEST(WholeNumber, RefusesEverythingElse) {
    for (const char* text : {"", " ", "x", "7x", "1.5", "0x10", "1e3", "+7", "7 8", "11", "-1", "99999999999999999999"})
        EXPECT_FALSE(whole_number(text, 0, 10)) << text;
}

TEST(Nnodes, OneNumberOrTwo) {
    EXPECT_EQ(*parse_nnodes("3"), (NodeRange{3, 3}));
    EXPECT_EQ(*parse_nnodes("1:4"), (NodeRange{1, 4}));
    for (const char* text : {"0", "2:1", "1:2:3", "x", "1:", ":1", "", "-1", "1.5", "0:2"}) {
        auto wrong = parse_nnodes(text);
        ASSERT_FALSE(wrong) << text;
        EXPECT_EQ(wrong.error().text, "expected a number of nodes from 1, or MIN:MAX");
    }
}

TEST(Nproc, NumbersAndWords) {
    EXPECT_EQ(*parse_nproc("4"), (WorkerCount{Kind::number, 4}));
    EXPECT_EQ(*parse_nproc(" 4 "), (WorkerCount{Kind::number, 4}));
    EXPECT_EQ(parse_nproc("auto")->kind, Kind::automatic);
    EXPECT_EQ(parse_nproc("cpu")->kind, Kind::cpu);
    EXPECT_EQ(parse_nproc("gpu")->kind, Kind::gpu);
    EXPECT_EQ(parse_nproc("xpu")->kind, Kind::xpu);
    EXPECT_EQ(parse_nproc("hpu")->kind, Kind::hpu);
    EXPECT_EQ(parse_nproc("npu")->kind, Kind::npu);
    for (const char* text : {"0", "-1", "banana", "", "1.5", "2x", "GPU", "99999999999999999999"})
        EXPECT_FALSE(parse_nproc(text)) << text;
}

TEST(Switch, IsTrueOrFalse) {
    for (const char* text : {"1", "true", "YES", "on", " 1 "}) EXPECT_TRUE(*parse_switch(text)) << text;
    for (const char* text : {"0", "false", "No", "off"}) EXPECT_FALSE(*parse_switch(text)) << text;
    for (const char* text : {"", "2", "banana", "-1"}) EXPECT_FALSE(parse_switch(text).has_value()) << text;
}

TEST(Seconds, ErrorNamesTheRange) {
    EXPECT_EQ(parse_seconds("1e18").error().text,
              "expected a number of seconds from 0 to 1000000000, like 30 or 0.5, or 500ms, 10m, 2h");
}

TEST(Count, ErrorNamesTheRange) {
    EXPECT_EQ(parse_count("99999999999", "a rank").error().text, "expected a rank from 0 to 2147483647");
}

TEST(Seconds, WholeOrDecimalFromZero) {
    EXPECT_EQ(*parse_seconds("30"), 30s);
    EXPECT_EQ(*parse_seconds("0.25"), 250ms);
    EXPECT_EQ(*parse_seconds(".5"), 500ms);
    EXPECT_EQ(*parse_seconds("0"), 0ms);
    EXPECT_EQ(*parse_seconds("0.0001"), 1ms) << "more than nothing stays more than nothing";
    for (const char* text : {"", "-1", "soon", "inf", "nan", "1e3", ".", "1.2.3", "99999999999"})
        EXPECT_FALSE(parse_seconds(text)) << text;
}

TEST(Seconds, MayHaveAUnit) {
    EXPECT_EQ(*parse_seconds("500ms"), 500ms);
    EXPECT_EQ(*parse_seconds("1.5s"), 1500ms);
    EXPECT_EQ(*parse_seconds("10m"), 10min);
    EXPECT_EQ(*parse_seconds("10min"), 10min);
    EXPECT_EQ(*parse_seconds("2h"), 2h);
    EXPECT_EQ(*parse_seconds("1d"), 24h);
    for (const char* text : {"m", "1x", "1 m", "1mm", "1h30m", "0x1", "100000d"})
        EXPECT_FALSE(parse_seconds(text)) << text;
}

TEST(BackoffText, FirstAndMost) {
    auto both = parse_backoff("0.5:8");
    ASSERT_TRUE(both);
    EXPECT_EQ(both->first, 500ms);
    EXPECT_EQ(both->most, 8s);
    EXPECT_EQ(parse_backoff("2")->most, 30s);
    EXPECT_EQ(parse_backoff("60")->most, 60s) << "the most is never below the first";
    EXPECT_EQ(parse_backoff("0:0")->most, 0s);
    for (const char* text : {"", ":", "5:1", "1:", "x", "1:2:3"}) EXPECT_FALSE(parse_backoff(text)) << text;
}

TEST(Port, Range) {
    EXPECT_EQ(*parse_port("0", 0), 0);
    EXPECT_EQ(*parse_port("65535", 1), 65535);
    EXPECT_EQ(parse_port("0", 1).error().text, "expected a port from 1 to 65535");
    for (const char* text : {"70000", "http", "-1", ""}) EXPECT_FALSE(parse_port(text, 0)) << text;
}

TEST(Values, runs_to_keep_are_a_number_or_all) {
    EXPECT_EQ(*parse_keep_runs("1"), 1);
    EXPECT_EQ(*parse_keep_runs("all"), std::numeric_limits<int>::max());
    for (const char* wrong : {"0", "-1", "none", "", "99999999999"})
        EXPECT_EQ(parse_keep_runs(wrong).error().text, "expected a number of runs from 1, or all") << wrong;
}

TEST(Rotate, SizesAndKeep) {
    EXPECT_EQ(parse_rotation("1M")->bytes, 1U << 20);
    EXPECT_EQ(parse_rotation("500K")->bytes, 500U << 10);
    EXPECT_EQ(parse_rotation("2g")->bytes, 2ULL << 30);
    EXPECT_EQ(parse_rotation("4096")->bytes, 4096U);
    EXPECT_EQ(parse_rotation("4096")->keep, 5);
    EXPECT_EQ(parse_rotation("1M:0")->keep, 0);
    for (const char* text : {"", "0", "M", "1T", "-1M", "1M:", "1M:x", "1M:-1", "9999999999999G"})
        EXPECT_FALSE(parse_rotation(text)) << text;
}

TEST(Streams, OneForAll) {
    auto all = parse_streams("3");
    ASSERT_TRUE(all);
    EXPECT_EQ(all->of(0), 3U);
    EXPECT_EQ(all->of(999), 3U);
    EXPECT_EQ(parse_streams("0")->of(1), 0U);
}

TEST(Streams, PerRankOfAnyNumberOfDigits) {
    auto some = parse_streams("0:3,12:1,345:2");
    ASSERT_TRUE(some);
    EXPECT_EQ(some->of(0), 3U);
    EXPECT_EQ(some->of(1), 0U);
    EXPECT_EQ(some->of(12), 1U);
    EXPECT_EQ(some->of(345), 2U);
    EXPECT_EQ(parse_streams("1:1,1:2")->of(1), 2U) << "the last value of a rank applies";
}

TEST(Streams, RefusesWhatTorchrunRefuses) {
    for (const char* text :
         {"4", "x", "", "11", "0:9", "0:1,", "0:1,1", ":1", "0:", "-1:1", " 0:1", "0:1, 1:2", "0:33"})
        EXPECT_FALSE(parse_streams(text)) << text;
}

TEST(Ranks, ListsAndRanges) {
    EXPECT_EQ(**parse_ranks("0,2-4"), (std::set<int>{0, 2, 3, 4}));
    EXPECT_EQ(**parse_ranks("7"), (std::set<int>{7}));
    auto all = parse_ranks("all");
    ASSERT_TRUE(all);
    EXPECT_FALSE(all->has_value());
    for (const char* text : {"", "a", "0,", "4-2", "-1", "1-", "0-9999999", "0,x"})
        EXPECT_FALSE(parse_ranks(text)) << text;
}

TEST(StdinText, Modes) {
    using Mode = agent::StdinPlan::Mode;
    EXPECT_EQ(parse_stdin("none")->mode, Mode::none);
    EXPECT_EQ(parse_stdin("all")->mode, Mode::all);
    EXPECT_EQ(parse_stdin("3")->mode, Mode::rank);
    EXPECT_EQ(parse_stdin("3")->rank, 3);
    for (const char* text : {"", "-1", "some"}) EXPECT_FALSE(parse_stdin(text)) << text;
}

TEST(WrapText, RanksAndWords) {
    auto wrap = parse_wrap("0,2:gdb --args -ex 'run it'");
    ASSERT_TRUE(wrap);
    EXPECT_EQ(*wrap->ranks, (std::set<int>{0, 2}));
    EXPECT_EQ(wrap->words, (std::vector<std::string>{"gdb", "--args", "-ex", "run it"}));
    EXPECT_FALSE(parse_wrap("all:nsys profile -o out:1")->ranks.has_value()) << "further colons are the command's";
    for (const char* text : {"", "gdb", "0:", "0: ", "x:gdb", "0:'gdb"}) EXPECT_FALSE(parse_wrap(text)) << text;
}

TEST(BindingText, OurNamesAndTorchruns) {
    using agent::Binding;
    EXPECT_EQ(*parse_binding("none"), Binding::none);
    EXPECT_EQ(*parse_binding("cores"), Binding::cores);
    EXPECT_EQ(*parse_binding("numa"), Binding::numa);
    EXPECT_EQ(*parse_binding("node"), Binding::numa);
    EXPECT_EQ(*parse_binding("socket"), Binding::socket);
    EXPECT_EQ(*parse_binding("exclusive"), Binding::exclusive);
    EXPECT_EQ(*parse_binding("core-complex"), Binding::core_complex);
    EXPECT_FALSE(parse_binding("moon"));
}

TEST(Choice, OneOfThem) {
    EXPECT_EQ(*parse_choice("fork", {"spawn", "fork"}), "fork");
    EXPECT_EQ(parse_choice("x", {"a", "b", "c"}).error().text, "expected a, b or c");
}

TEST(AssignmentText, NameAndValue) {
    EXPECT_EQ(*parse_assignment("A=b=c"), (std::pair<std::string, std::string>("A", "b=c")));
    EXPECT_EQ(parse_assignment("A=")->second, "");
    for (const char* text : {"", "A", "=b"}) EXPECT_FALSE(parse_assignment(text)) << text;
}

TEST(Text, IsNotEmpty) {
    EXPECT_EQ(*parse_text("x", "a file"), "x");
    EXPECT_EQ(parse_text("", "a file").error().text, "expected a file");
}

}  // namespace
}  // namespace dlaunch::launcher
