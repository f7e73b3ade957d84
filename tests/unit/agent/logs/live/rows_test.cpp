#include "agent/logs/live/rows.hpp"

#include <gtest/gtest.h>

#include "agent/logs/live/progress_line.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

TEST(Rows, AreOnePerLine) {
    EXPECT_EQ(make_rows({{0, "a", 1}, {3, "b", 1}}, 8), (std::vector<Row>{{{0}, "a", 1}, {{3}, "b", 1}}));
    EXPECT_TRUE(make_rows({}, 8).empty());
}

TEST(Rows, OfEqualLinesAreShared) {
    EXPECT_EQ(make_rows({{0, "50%", 3}, {1, "40%", 3}, {2, "50%", 3}}, 8),
              (std::vector<Row>{{{0, 2}, "50%", 3}, {{1}, "40%", 3}}));
}

TEST(Rows, BeyondTheSpaceShareTheLast) {
    std::vector<OpenLine> lines;
    for (int rank = 0; rank < 64; ++rank) lines.push_back({rank, std::to_string(rank), 2});
    const auto rows = make_rows(lines, 8);
    ASSERT_EQ(rows.size(), 8U);
    EXPECT_EQ(rows[6].text, "6");
    EXPECT_EQ(rows[7].local_ranks.size(), 57U);
    EXPECT_EQ(rows[7].text, "(and 56 more) 7");
    EXPECT_EQ(rows[7].width, 16U);
}

TEST(Rows, OfARankKeepTheirOrder) {
    EXPECT_EQ(make_rows({{0, "a", 1}, {0, "b", 1}, {1, "b", 1}, {1, "a", 1}}, 8),
              (std::vector<Row>{{{0}, "a", 1}, {{0, 1}, "b", 1}, {{1}, "a", 1}}));
    EXPECT_EQ(make_rows({{0, "a", 1}, {0, "a", 1}}, 8), (std::vector<Row>{{{0}, "a", 1}, {{0}, "a", 1}}));
    EXPECT_EQ(make_rows({{0, "a", 1}, {1, "b", 1}, {1, "c", 1}}, 2),
              (std::vector<Row>{{{0}, "a", 1}, {{1}, "(and 1 more) b", 14}}));
}

TEST(ProgressLine, HasWhatThereIsToSay) {
    EXPECT_EQ(progress_line({.workers = 3, .alive = 2, .nodes = 1}, 72s, {}, 80), "1:12 | 2 of 3 workers alive");
    EXPECT_EQ(progress_line({.workers = 3, .alive = 3, .restarts = 1, .max_restarts = 3, .nodes = 1, .wanted_nodes = 2},
                            3700s, {"rank 1", 12s}, 100),
              "1:01:40 | 3 of 3 workers alive | 1 of 2 nodes | restart 1 of 3 | rank 1 silent for 12 s");
    EXPECT_EQ(progress_line({.wanted_nodes = 2}, 5s, {}, 80), "0:05 | waiting for 2 nodes");
    EXPECT_EQ(progress_line({.workers = 2, .alive = 2, .nodes = 1}, 1s, {"ranks 0-1", 3600s}, 80),
              "0:01 | 2 of 2 workers alive | ranks 0-1 silent for 60 min");
}

TEST(ProgressLine, FitsTheScreen) {
    const JobProgress job{.workers = 3, .alive = 3, .nodes = 1};
    EXPECT_EQ(progress_line(job, 1s, {"rank 1", 12s}, 40), "0:01 | 3 of 3 workers alive");
    EXPECT_EQ(progress_line(job, 1s, {}, 3), "0:0");
}

}  // namespace
}  // namespace dlaunch::agent
