#include "rendezvous/rounds/cooldowns.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

const Time kNow{1h};

TEST(Cooldowns, begin_with_the_third_loss_within_ten_minutes_and_double) {
    Cooldowns cooldowns({10s, 25s});
    Time now = kNow;
    std::vector<Time::duration> waits;
    for (int n = 0; n < 6; ++n) {
        cooldowns.lost(now, "node1");
        waits.push_back(std::max(Time::duration{}, cooldowns.admitted_from("node1") - now));
        now += 60s;
    }
    EXPECT_EQ(waits, (std::vector<Time::duration>{0s, 0s, 10s, 20s, 25s, 25s}));
    EXPECT_LE(cooldowns.admitted_from("node2"), kNow);
}

TEST(Cooldowns, losses_that_are_far_apart_begin_none) {
    Cooldowns cooldowns({10s, 300s});
    for (int n = 0; n < 10; ++n) cooldowns.lost(kNow + n * 301s, "node1");
    EXPECT_LE(cooldowns.admitted_from("node1"), kNow);
}

TEST(Cooldowns, a_host_begins_anew_ten_minutes_after_its_losses_although_others_are_lost_meanwhile) {
    Cooldowns cooldowns({10s, 300s});
    for (int n = 0; n < 4; ++n) cooldowns.lost(kNow, "node1");
    EXPECT_EQ(cooldowns.admitted_from("node1"), kNow + 20s);
    for (int n = 1; n <= 40; ++n) cooldowns.lost(kNow + n * 15s, "node2");
    for (int n = 0; n < 2; ++n) cooldowns.lost(kNow + 601s, "node1");
    EXPECT_EQ(cooldowns.losses("node1"), 2U);
    EXPECT_LE(cooldowns.admitted_from("node1"), kNow + 601s);
    cooldowns.lost(kNow + 601s, "node1");
    EXPECT_EQ(cooldowns.admitted_from("node1"), kNow + 611s) << "the first cool-down again";
}

TEST(Cooldowns, hosts_whose_losses_are_old_are_forgotten_within_a_minute) {
    Cooldowns cooldowns({10s, 300s});
    for (int n = 0; n < 1'000; ++n) cooldowns.lost(kNow, fmt::format("node{}", n));
    cooldowns.lost(kNow + 599s, "other");
    EXPECT_EQ(cooldowns.snapshot(kNow + 599s).size(), 1'001U);
    cooldowns.lost(kNow + 660s, "other");
    EXPECT_EQ(cooldowns.snapshot(kNow + 660s).size(), 1U);
}

TEST(Cooldowns, zero_means_never) {
    Cooldowns cooldowns({0s, 300s});
    for (int n = 0; n < 10; ++n) cooldowns.lost(kNow, "node1");
    EXPECT_LE(cooldowns.admitted_from("node1"), kNow);
}

TEST(Cooldowns, go_on_under_a_successor_with_another_clock) {
    Cooldowns earlier({10s, 300s});
    for (int n = 0; n < 4; ++n) earlier.lost(kNow, "node1");
    const Time then = Time{500h};
    Cooldowns cooldowns({10s, 300s}, then, earlier.snapshot(kNow + 5s));
    EXPECT_EQ(cooldowns.admitted_from("node1"), then + 15s);
    cooldowns.lost(then, "node1");
    EXPECT_EQ(cooldowns.admitted_from("node1"), then + 40s);
}

}  // namespace
}  // namespace dlaunch::rendezvous
