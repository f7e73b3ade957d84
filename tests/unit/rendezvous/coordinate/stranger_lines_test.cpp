#include "rendezvous/coordinate/stranger_lines.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using store::Stranger;

const base::Time kStart{};

TEST(StrangerLines, says_what_is_wrong_once_a_minute_for_an_address) {
    StrangerLines lines;
    EXPECT_EQ(lines.line(kStart, "10.0.0.1", Stranger::without_token),
              "refused a connection from 10.0.0.1: it has no token");
    EXPECT_EQ(lines.line(kStart + std::chrono::seconds(59), "10.0.0.1", Stranger::of_another_token), "");
    EXPECT_EQ(lines.line(kStart + std::chrono::seconds(59), "10.0.0.2", Stranger::with_token),
              "refused a connection from 10.0.0.2: it has a token, and this job has none");
    EXPECT_EQ(lines.line(kStart + std::chrono::seconds(60), "10.0.0.1", Stranger::of_another_token),
              "refused a connection from 10.0.0.1: it has another token");
}

TEST(StrangerLines, has_one_line_for_all_beyond_the_limit) {
    StrangerLines lines;
    for (std::size_t at = 0; at < StrangerLines::kMostAddresses; ++at)
        EXPECT_NE(lines.line(kStart, std::to_string(at), Stranger::without_token), "");
    EXPECT_EQ(lines.line(kStart, "one more", Stranger::without_token),
              "refused a connection from one more and others: it has no token");
    EXPECT_EQ(lines.line(kStart, "yet another", Stranger::without_token), "");
    EXPECT_EQ(lines.line(kStart, "0", Stranger::without_token), "");
    EXPECT_NE(lines.line(kStart + StrangerLines::kPause, "yet another", Stranger::without_token), "");
}

}  // namespace
}  // namespace dlaunch::rendezvous
