#include "rendezvous/store/server/deadlines.hpp"

#include <gtest/gtest.h>

namespace dlaunch::store {
namespace {

using std::chrono::seconds;
using Slots = std::vector<Slot>;

const base::Time kStart{std::chrono::hours(1)};

TEST(Deadlines, connections_are_overdue_in_the_order_of_their_starts) {
    Deadlines deadlines(seconds(10));
    EXPECT_EQ(deadlines.next(), std::nullopt);
    deadlines.start(7, kStart);
    deadlines.start(0, kStart + seconds(1));
    EXPECT_EQ(deadlines.next(), kStart + seconds(10));
    EXPECT_EQ(deadlines.overdue(kStart + seconds(9)), Slots{});
    EXPECT_EQ(deadlines.overdue(kStart + seconds(11)), (Slots{7, 0}));
    EXPECT_EQ(deadlines.next(), std::nullopt);
}

TEST(Deadlines, a_second_start_moves_the_deadline) {
    Deadlines deadlines(seconds(10));
    deadlines.start(0, kStart);
    deadlines.start(1, kStart + seconds(1));
    deadlines.start(0, kStart + seconds(2));
    EXPECT_EQ(deadlines.overdue(kStart + seconds(11)), Slots{1});
    EXPECT_EQ(deadlines.next(), kStart + seconds(12));
}

TEST(Deadlines, a_stopped_connection_is_never_overdue) {
    Deadlines deadlines(seconds(10));
    deadlines.start(0, kStart);
    deadlines.stop(0);
    deadlines.stop(0);
    deadlines.stop(5);
    EXPECT_EQ(deadlines.next(), std::nullopt);
    EXPECT_EQ(deadlines.overdue(kStart + seconds(100)), Slots{});
}

}  // namespace
}  // namespace dlaunch::store
