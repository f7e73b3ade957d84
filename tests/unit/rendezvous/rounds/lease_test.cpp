#include "rendezvous/rounds/lease.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

TEST(Lease, a_member_may_miss_a_beat) {
    for (const Milliseconds node_timeout : {2'000ms, 5'000ms, 10'000ms, 60'000ms}) {
        EXPECT_LT(least_pause(node_timeout) * 2 * 5 / 4, member_lease(node_timeout));
        EXPECT_LT(most_pause(node_timeout) * 3 / 2 * 5 / 4, member_lease(node_timeout))
            << "time for another dial is left";
    }
}

TEST(Lease, the_beats_of_very_many_members_are_bounded) {
    for (const std::size_t members : {1U, 1'000U, 20'000U}) EXPECT_EQ(beat_pause(5s, members), 800ms);
    const auto per_second = [](std::size_t members) {  // with an eighth of jitter on average
        return static_cast<double>(members) * 1000 / (static_cast<double>(beat_pause(5s, members).count()) * 1.125);
    };
    for (const std::size_t members : {25'000U, 50'000U}) EXPECT_NEAR(per_second(members), 25'000, 300);
    EXPECT_EQ(beat_pause(5s, 1'000'000), 1'800ms);
}

}  // namespace
}  // namespace dlaunch::rendezvous
