#include "rendezvous/rounds/ask_pauses.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

TEST(AskPauses, a_standby_asks_often) {
    AskPauses pauses;
    pauses.joined(true);
    for (int n = 0; n < 5; ++n) EXPECT_EQ(pauses.next(10s, 77), 200ms);
}

TEST(AskPauses, other_members_ask_rarely_and_ever_more_rarely) {
    AskPauses pauses;
    pauses.joined(false);
    for (const auto expected : {1'250ms, 2'500ms, 2'500ms}) EXPECT_EQ(pauses.next(10s, 0), expected);
    EXPECT_EQ(pauses.next(10s, 512), 3'750ms);
    EXPECT_LT(pauses.next(10s, 1'023), 5s);
    pauses.joined(false);
    EXPECT_EQ(pauses.next(10s, 0), 1'250ms) << "another coordinator has answered";
}

TEST(AskPauses, a_newcomer_asks_soon_and_then_more_rarely) {
    AskPauses pauses;
    for (const auto expected : {200ms, 400ms, 800ms, 1'250ms, 1'250ms}) EXPECT_EQ(pauses.next(5s, 0), expected);
}

TEST(AskPauses, a_short_lease_allows_no_long_pause) {
    AskPauses pauses;
    pauses.joined(false);
    EXPECT_EQ(pauses.next(2s, 0), 250ms);
    EXPECT_LT(pauses.next(2s, 1'023), 1s);
}

}  // namespace
}  // namespace dlaunch::rendezvous
