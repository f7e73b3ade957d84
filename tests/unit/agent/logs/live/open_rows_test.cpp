#include "agent/logs/live/open_rows.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

class OpenRowsTest : public testing::Test {
protected:
    /// The final lines.
    std::string feed(std::string_view bytes) { return rows_.feed(bytes, now_); }
    std::string feed_all(const std::vector<std::string>& writes) {
        std::string lines;
        for (const std::string& bytes : writes) lines += feed(bytes);
        return lines;
    }
    std::string wait(base::Duration time) { return rows_.advance(now_ += time); }
    /// With "|" after each row.
    [[nodiscard]] std::string visible() const {
        std::string all;
        for (const LineModel* line : rows_.visible()) all += line->text(1000) + "|";
        return all;
    }

    base::Time now_{1h};
    OpenRows rows_;
};

TEST_F(OpenRowsTest, TextIsFinalWithItsNewline) {
    EXPECT_EQ(feed("a\nb"), "a\n");
    EXPECT_EQ(visible(), "b|");
    EXPECT_EQ(feed("c\n"), "bc\n");
    EXPECT_TRUE(rows_.is_fresh(now_));
    EXPECT_EQ(rows_.deadline(), std::nullopt);
}

TEST_F(OpenRowsTest, AStyleGoesOnInTheNextLine) {
    EXPECT_EQ(feed("\x1b[31mred\n"), "\x1b[0;31mred\x1b[0m\n");
    EXPECT_FALSE(rows_.is_fresh(now_));
    EXPECT_EQ(feed("still \x1b[0mplain\n"), "\x1b[0;31mstill \x1b[0mplain\n");
    EXPECT_TRUE(rows_.is_fresh(now_));
}

TEST_F(OpenRowsTest, ABarWaitsForAWhileOrForText) {
    EXPECT_EQ(feed("\r100%\n"), "");
    EXPECT_EQ(rows_.deadline(), now_ + OpenRows::kBarWaits);
    EXPECT_EQ(wait(299ms), "");
    EXPECT_EQ(wait(1ms), "100%\n");
    EXPECT_EQ(feed("\r100%\n"), "");
    EXPECT_EQ(feed("text\n"), "100%\ntext\n");
}

TEST_F(OpenRowsTest, EmptyLinesAreKept) {
    EXPECT_EQ(feed("\n"), "");
    EXPECT_EQ(feed("text\n"), "\ntext\n");
    EXPECT_EQ(feed("\n"), "");
    EXPECT_EQ(wait(1s), "\n");
}

/// tqdm: the cursor rests in the first row.
TEST_F(OpenRowsTest, NestedBarsAreDrawnBelowTheCursor) {
    for (int step = 0; step < 50; ++step) {
        for (int position = 0; position < 3; ++position) {
            const std::string down(static_cast<std::size_t>(position), '\n');
            std::string up;
            for (int row = 0; row < position; ++row) up += "\x1b[A";
            EXPECT_EQ(feed_all({down, fmt::format("\rbar {} {}", position, step), up}), "");
        }
        EXPECT_EQ(wait(100ms), "");
    }
    EXPECT_EQ(visible(), "bar 0 49|bar 1 49|bar 2 49|");
    EXPECT_EQ(feed_all({"\n\r        \x1b[A", "\n\n\r        \x1b[A\x1b[A", "\rdone    \n"}), "");
    EXPECT_EQ(wait(300ms), "done\n") << "cleared bars leave no lines";
    EXPECT_EQ(visible(), "");
}

/// rich: the cursor rests at the end, and is hidden.
TEST_F(OpenRowsTest, FramesAreDrawnAboveTheCursor) {
    std::string lines = feed("\x1b[?25l");
    for (int step = 0; step < 50; ++step) {
        if (step > 0) lines += feed("\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K");
        lines += feed(fmt::format("a {}\nb {}\nc {}", step, step, step));
        lines += wait(250ms);
    }
    EXPECT_EQ(lines, "");
    EXPECT_EQ(visible(), "a 49|b 49|c 49|");
    EXPECT_EQ(feed("\n\x1b[?25h"), "");
    EXPECT_EQ(wait(500ms), "a 49\nb 49\nc 49\n");
}

TEST_F(OpenRowsTest, LinesAboveTheFramesBecomeFinal) {
    std::string lines = feed("\x1b[?25l");
    for (int step = 0; step < 50; ++step) {
        if (step > 0) lines += feed("\r\x1b[2K\x1b[1A\x1b[2K");
        if (step % 10 == 1) lines += feed(fmt::format("log {}\n", step));
        lines += feed(fmt::format("a {}\nb {}", step, step));
        lines += wait(100ms);
    }
    EXPECT_EQ(lines, "log 1\nlog 11\nlog 21\nlog 31\n");
    EXPECT_EQ(visible(), "log 41|a 49|b 49|");
}

TEST_F(OpenRowsTest, SlowFramesAreKeptOnceTheirPaceIsKnown) {
    std::string lines;
    for (int step = 0; step < 5; ++step) {
        if (step > 0) lines += feed("\x1b[2A\x1b[J");
        lines += feed(fmt::format("a {}\nb {}\n", step, step));
        lines += wait(2s);
    }
    EXPECT_EQ(lines, "a 0\nb 0\n");
    EXPECT_EQ(visible(), "a 4|b 4|");
    EXPECT_EQ(wait(3s), "a 4\nb 4\n");
}

TEST_F(OpenRowsTest, ARowOfMovesDownIsKept) {
    static_cast<void>(feed("\x1b[?25la 0\nb 0\n"));
    for (int step = 1; step < 50; ++step) {
        EXPECT_EQ(feed(fmt::format("\x1b[2A\ra {}\x1b[2B", step)), "");
        EXPECT_EQ(wait(100ms), "");
    }
    EXPECT_EQ(visible(), "a 49|b 0|");
}

TEST_F(OpenRowsTest, NothingIsLostAtTheEnd) {
    static_cast<void>(feed("\n\r50%\x1b[A\rfirst\xE2\x96"));
    EXPECT_EQ(rows_.finish(), "first\xE2\x96\n50%\n");
    EXPECT_EQ(rows_.finish(), "");
    EXPECT_EQ(visible(), "");
}

TEST_F(OpenRowsTest, GivesWayUnlessItHasFrames) {
    static_cast<void>(feed("\r100%\n50%"));
    EXPECT_EQ(rows_.give_way(now_), "100%\n");
    EXPECT_EQ(visible(), "50%|");
    static_cast<void>(feed("\x1b[A\rnew\n"));
    EXPECT_EQ(rows_.give_way(now_), "");
}

TEST_F(OpenRowsTest, MemoryIsBounded) {
    static_cast<void>(feed("\x1b[?25l\x1b[9999A"));
    std::string lines;
    for (int line = 0; line < 200; ++line) lines += feed(fmt::format("{}\n", line));
    EXPECT_TRUE(lines.starts_with("0\n1\n"));
    EXPECT_LE(rows_.visible().size(), OpenRows::kMostRows);
    EXPECT_GT(feed(std::string(OpenRows::kMostCells + 1, 'x')).size(), OpenRows::kMostCells);
}

TEST_F(OpenRowsTest, TextIsFinalAgainLongAfterTheLastFrame) {
    static_cast<void>(feed("a\n\x1b[A\rb\n"));
    EXPECT_EQ(wait(11s), "b\n");
    EXPECT_EQ(feed("text\n"), "text\n");
}

}  // namespace
}  // namespace dlaunch::agent
