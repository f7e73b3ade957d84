#include "rendezvous/rounds/cooldowns.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

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
    Cooldowns cooldowns({10s, 300s});
    cooldowns.learn(then, earlier.snapshot(kNow + 5s));
    EXPECT_EQ(cooldowns.admitted_from("node1"), then + 15s);
    cooldowns.lost(then, "node1");
    EXPECT_EQ(cooldowns.admitted_from("node1"), then + 40s);
}

TEST(Cooldowns, learn_the_longer_record_of_a_host) {
    Cooldowns twice({10s, 300s}), thrice({10s, 300s}), cooldowns({10s, 300s});
    for (int n = 0; n < 2; ++n) twice.lost(kNow, "node1");
    for (int n = 0; n < 3; ++n) thrice.lost(kNow, "node1");
    for (const auto* known : {&twice, &thrice, &twice}) cooldowns.learn(kNow, known->snapshot(kNow));
    EXPECT_EQ(cooldowns.losses("node1"), 3U);
    EXPECT_EQ(cooldowns.admitted_from("node1"), kNow + 10s);
}

TEST(Cooldowns, the_worst_hosts_are_those_lost_most_often) {
    Cooldowns cooldowns({10s, 300s});
    for (int host = 0; host < 5; ++host)
        for (int n = 0; n <= host; ++n) cooldowns.lost(kNow, "node" + std::to_string(host));
    std::set<std::string> worst;
    for (const HostLosses& host : cooldowns.worst(kNow, 2)) worst.insert(host.host);
    EXPECT_EQ(worst, (std::set<std::string>{"node3", "node4"}));
    EXPECT_EQ(cooldowns.worst(kNow, 5).size(), 5U);
}

}  // namespace
}  // namespace dlaunch::rendezvous
