#include "rendezvous/store/server/half_open.hpp"

#include <gtest/gtest.h>

namespace dlaunch::store {
namespace {

using std::chrono::seconds;
using Slots = std::vector<Slot>;

const base::Time kStart{std::chrono::hours(1)};
constexpr bool kOld = true, kNewest = false;

TEST(HalfOpen, silent_connections_are_overdue_at_their_deadline) {
    HalfOpen gate(100, seconds(10), seconds(3));
    EXPECT_EQ(gate.next(), std::nullopt);
    gate.enter(0, "a", kStart);
    gate.enter(1, "a", kStart + seconds(3));
    EXPECT_EQ(gate.next(), kStart + seconds(10));
    EXPECT_EQ(gate.overdue(kStart + seconds(9)), Slots{});
    EXPECT_EQ(gate.overdue(kStart + seconds(10)), Slots{0});
    EXPECT_EQ(gate.next(), kStart + seconds(13));
    EXPECT_EQ(gate.overdue(kStart + seconds(20)), Slots{1});
    EXPECT_EQ(gate.next(), std::nullopt);
}

TEST(HalfOpen, a_connection_that_greeted_or_closed_is_not_half_open) {
    HalfOpen gate(100, seconds(10), seconds(3));
    for (Slot slot = 0; slot < 3; ++slot) gate.enter(slot, "a", kStart);
    gate.greet(0, kNewest);
    gate.leave(1);
    EXPECT_EQ(gate.size(), 1U);
    EXPECT_EQ(gate.overdue(kStart + seconds(10)), Slots{2});
}

TEST(HalfOpen, is_full_at_its_limit_and_evicts_no_connection) {
    HalfOpen gate(2, seconds(10), seconds(3));
    gate.enter(0, "a", kStart);
    EXPECT_FALSE(gate.full());
    gate.enter(1, "a", kStart);
    EXPECT_TRUE(gate.full());
    EXPECT_EQ(gate.overdue(kStart), Slots{});
    gate.greet(0, kNewest);
    EXPECT_FALSE(gate.full());
}

TEST(HalfOpen, uses_the_short_deadline_while_new_connections_wait) {
    HalfOpen gate(2, seconds(10), seconds(3));
    gate.enter(0, "a", kStart);
    gate.enter(1, "a", kStart + seconds(1));
    gate.hurry(true);
    EXPECT_EQ(gate.next(), kStart + seconds(3));
    EXPECT_EQ(gate.overdue(kStart + seconds(3)), Slots{0});
    gate.hurry(false);
    EXPECT_EQ(gate.next(), kStart + seconds(11));
}

TEST(HalfOpen, a_client_of_1_13_may_have_a_silent_second_connection) {
    HalfOpen gate(100, seconds(10), seconds(3));
    gate.enter(0, "a", kStart);
    gate.greet(0, kOld);
    for (Slot slot = 1; slot < 4; ++slot) gate.enter(slot, slot == 1 ? "b" : "a", kStart);
    EXPECT_EQ(gate.overdue(kStart + seconds(10)),
              (Slots{1, 3}));  // another host's, and one more than there are clients
    EXPECT_EQ(gate.next(), std::nullopt);
}

TEST(HalfOpen, spared_connections_do_not_accumulate) {
    HalfOpen gate(100, seconds(10), seconds(3));
    Slot slot = 0, spared = 0;
    for (int i = 0; i < 10; ++i) {
        const auto client = slot++, silent = slot++;
        gate.enter(client, "a", kStart);
        gate.greet(client, kOld);
        gate.enter(silent, "a", kStart);
        spared += gate.overdue(kStart + seconds(10)).empty() ? 1 : 0;
        gate.leave(client);
    }
    EXPECT_EQ(spared, 1U);
}

TEST(HalfOpen, a_spared_connection_may_still_greet) {
    HalfOpen gate(100, seconds(10), seconds(3));
    gate.enter(0, "a", kStart);
    gate.greet(0, kOld);
    gate.enter(1, "a", kStart);
    EXPECT_EQ(gate.overdue(kStart + seconds(10)), Slots{});
    gate.greet(1, kOld);
    for (Slot slot = 2; slot < 5; ++slot) gate.enter(slot, "a", kStart);
    EXPECT_EQ(gate.overdue(kStart + seconds(10)), Slots{4});
}

TEST(HalfOpen, a_reused_slot_starts_a_new_deadline) {
    HalfOpen gate(100, seconds(10), seconds(3));
    gate.enter(0, "a", kStart);
    gate.greet(0, kNewest);
    gate.leave(0);
    gate.enter(0, "a", kStart + seconds(5));
    EXPECT_EQ(gate.overdue(kStart + seconds(14)), Slots{});
    EXPECT_EQ(gate.overdue(kStart + seconds(15)), Slots{0});
}

}  // namespace
}  // namespace dlaunch::store
