#include "agent/logs/live/painter.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

class PainterTest : public testing::Test {
protected:
    std::string painted() {
        std::string bytes(queue_.view());
        queue_.clear();
        return bytes;
    }

    ByteQueue queue_;
    Painter painter_{queue_};
};

TEST_F(PainterTest, DrawsBelowTheText) {
    painter_.draw({{"bar", 3, 3}, {"status", 6, 6}}, false);
    EXPECT_EQ(painted(), "bar\r\nstatus");
}

TEST_F(PainterTest, OverwritesTheLastBlock) {
    painter_.draw({{"bar", 3, 3}, {"status", 6, 6}}, false);
    static_cast<void>(painted());
    painter_.draw({{"ba", 2, 2}, {"statu", 5, 5}}, false);
    EXPECT_EQ(painted(), "\x1b[1A\rba\x1b[K\r\nstatu\x1b[K");
    painter_.draw({{"status", 6, 6}}, false);
    EXPECT_EQ(painted(), "\x1b[1A\rstatus\x1b[K\x1b[J");
}

TEST_F(PainterTest, ErasesFromTheTopOfTheBlock) {
    painter_.erase();
    EXPECT_EQ(painted(), "");
    painter_.draw({{"a", 1, 1}, {"b", 1, 1}, {"c", 1, 1}}, false);
    static_cast<void>(painted());
    painter_.erase();
    EXPECT_EQ(painted(), "\x1b[2A\r\x1b[J");
    painter_.erase();
    EXPECT_EQ(painted(), "");
}

TEST_F(PainterTest, CountsRowsThatANarrowerTerminalHasWrapped) {
    painter_.resize(80);
    painter_.draw({{std::string(50, 'x'), 50, 50}, {std::string(30, 'y'), 30, 30}}, false);
    static_cast<void>(painted());
    painter_.resize(20);
    painter_.draw({{"x", 1, 1}, {"y", 1, 1}}, false);
    EXPECT_EQ(painted(), "\x1b[4A\r\x1b[Jx\x1b[K\r\ny\x1b[K");
}

TEST_F(PainterTest, ErasesNoTextAboveRowsThatMayNotHaveWrapped) {
    painter_.resize(80);
    painter_.draw({{"bar", 30, 18}, {"status", 6, 6}}, false);
    static_cast<void>(painted());
    painter_.resize(20);
    painter_.erase();
    EXPECT_EQ(painted(), "\x1b[1A\r\x1b[J");
}

TEST_F(PainterTest, LeavesTheCursorWhereTheUserTypes) {
    painter_.draw({{"continue? ", 10, 10}, {"bar", 3, 3}, {"status", 6, 6}}, true);
    EXPECT_EQ(painted(), "continue? \r\nbar\r\nstatus\x1b[2A\r\x1b[10C");
    painter_.erase();
    EXPECT_EQ(painted(), "\r\x1b[J");
}

}  // namespace
}  // namespace dlaunch::agent
