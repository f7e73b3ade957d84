#include "agent/logs/tail.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

const base::Time kStart = base::Time{} + 1s;

Lines lines_of(std::string_view bytes, int most = 20) {
    Tail tail;
    tail.add(bytes, {});
    return tail.lines(most);
}

TEST(Tail, returns_the_last_lines) {
    EXPECT_EQ(lines_of(""), Lines{});
    EXPECT_EQ(lines_of("a\nb\nc\n", 2), (Lines{"b", "c"}));
    EXPECT_EQ(lines_of("a\nb", 5), (Lines{"a", "b"}));
    EXPECT_EQ(lines_of("\n\n"), (Lines{"", ""}));
    EXPECT_EQ(lines_of("a\n", 0), Lines{});
}

TEST(Tail, joins_pieces) {
    Tail tail;
    for (const char* piece : {"Value", "Error: ", "it", " broke\nbye"}) tail.add(piece, {});
    EXPECT_EQ(tail.lines(20), (Lines{"ValueError: it broke", "bye"}));
}

TEST(Tail, returns_the_last_state_of_a_progress_bar) {
    EXPECT_EQ(lines_of(" 1%\r 2%\r 3%\nend\r\n"), (Lines{" 3%", "end"}));
    EXPECT_EQ(lines_of("10%\r20%\r"), Lines{"20%"});
}

TEST(Tail, keeps_only_the_last_bytes_of_a_flood) {
    Tail tail;
    std::string flood;
    for (int i = 0; i < 100'000; ++i) flood += "line " + std::to_string(i) + "\n";
    tail.add(flood, {});
    const Lines lines = tail.lines(3);
    EXPECT_EQ(lines, (Lines{"line 99997", "line 99998", "line 99999"}));
    EXPECT_LT(tail.lines(1'000'000).size(), 2000u);
}

TEST(Tail, the_oldest_line_is_whole) {
    Tail tail;
    std::string flood;
    for (int i = 10'000; i < 20'000; ++i) flood += "line " + std::to_string(i) + "\n";
    for (char c : flood) tail.add({&c, 1}, {});
    for (const std::string& line : tail.lines(1'000'000)) EXPECT_EQ(line.size(), 10u) << line;
}

TEST(Tail, knows_when_a_text_was_read) {
    Tail tail;
    tail.add("step 1\nValue", kStart);
    tail.add("Error: no\n", kStart + 5ms);
    tail.add("bye\n", kStart + 5005us);
    EXPECT_EQ(tail.shown("step 1")->at, kStart);
    EXPECT_EQ(tail.shown("bye")->at, kStart + 5ms) << "to some microseconds";
    EXPECT_FALSE(tail.shown("Value\n"));
    EXPECT_FALSE(tail.shown(""));
    for (int i = 0; i < 100; ++i) tail.add(std::string(999, 'x') + "\n", kStart + std::chrono::seconds(i));
    EXPECT_FALSE(tail.shown("step 1"));
    tail.add("step 1\n", kStart + 1h);
    EXPECT_EQ(tail.shown("step 1")->at, kStart + 1h);
    EXPECT_FALSE(tail.shown("step 1")->was_there_before);
}

TEST(Tail, knows_whether_a_text_was_there_before) {
    Tail tail;
    tail.add("ValueError: no\n", kStart);
    tail.add("Traceback:\nValueError: no\n", kStart + 50ms);
    EXPECT_EQ(tail.shown("ValueError: no")->at, kStart) << "logged, and then raised";
    EXPECT_FALSE(tail.shown("ValueError: no")->was_there_before);
    tail.add("retrying\nValueError: no\n", kStart + 101ms);
    EXPECT_EQ(tail.shown("ValueError: no")->at, kStart + 101ms);
    EXPECT_TRUE(tail.shown("ValueError: no")->was_there_before);
}

TEST(Tail, a_long_line_is_cut_after_its_beginning) {
    for (std::size_t length : {2000u, 9000u, 20'000u, 300'000u}) {
        const Lines lines = lines_of("before\nThe cause: " + std::string(length, 'x') + "\n");
        ASSERT_FALSE(lines.empty());
        EXPECT_EQ(lines.back(), "The cause: " + std::string(Tail::kLineBytes - 11, 'x') + "...") << length;
    }
}

TEST(Tail, returns_longer_lines_to_those_who_ask) {
    const std::string line =
        "{\"level\":\"ERROR\"," + std::string(2000, ' ') + "\"text\":\"connection reset by peer\"}";
    Tail tail;
    tail.add(line + "\n", kStart);
    EXPECT_EQ(tail.lines(1, Tail::kKeptBytes), Lines{line});
}

}  // namespace
}  // namespace dlaunch::agent
