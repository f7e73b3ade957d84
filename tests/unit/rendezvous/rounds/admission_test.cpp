/// Nodes that wait for a place, hosts that the next round lacks, and numbers of rounds.

#include "rendezvous/rounds/admission.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rendezvous/rounds/adoption.hpp"
#include "rendezvous/rounds/lost_hosts.hpp"
#include "rendezvous/rounds/round_numbers.hpp"

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{1h};

TEST(Admission, a_host_cools_down_until_its_deadline) {
    Admission admission;
    admission.cool("a", kNow + 10s);
    admission.cool("b", kNow + 20s);
    admission.cool("c", kNow + 10s);
    admission.gone("c");
    EXPECT_TRUE(admission.warm(kNow + 9s).empty());
    EXPECT_EQ(admission.warm(kNow + 10s), std::vector<std::string>{"a"});
    EXPECT_FALSE(admission.is_cooling("a"));
    EXPECT_EQ(admission.cooling(), 1U);
    EXPECT_EQ(admission.cooling([](const std::string& id) { return id == "a"; }), 0U);
}

TEST(Admission, each_newcomer_restarts_the_wait_of_all) {
    Admission admission;
    EXPECT_FALSE(admission.is_due(kNow));
    admission.wait(kNow, "a", 3s);
    admission.wait(kNow + 2s, "b", 3s);
    EXPECT_FALSE(admission.is_due(kNow + 4s));
    EXPECT_TRUE(admission.is_due(kNow + 5s));
    admission.admitted();
    EXPECT_EQ(admission.deadline(), kNever);
}

TEST(Admission, no_newcomer_waits_for_more_than_four_last_calls) {
    Admission admission;
    admission.wait(kNow, "a", 3s);
    for (int n = 1; n <= 5; ++n) admission.wait(kNow + n * 2s, fmt::format("b{}", n), 3s);
    EXPECT_EQ(admission.deadline(), kNow + 12s);
    admission.gone("a");
    EXPECT_EQ(admission.deadline(), kNow + 13s) << "the latest newcomer's last call";
    for (int n = 6; n <= 8; ++n) admission.wait(kNow + n * 2s, fmt::format("b{}", n), 3s);
    EXPECT_EQ(admission.deadline(), kNow + 14s) << "b1 has waited since 2 s";
    admission.admitted();
    admission.wait(kNow + 20s, "c", 3s);
    EXPECT_EQ(admission.deadline(), kNow + 23s);
}

TEST(Admission, a_node_that_comes_again_waits_anew) {
    Admission admission;
    admission.wait(kNow, "a", 3s);
    for (int n = 1; n <= 5; ++n) admission.wait(kNow + n * 2s, "a", 3s);
    EXPECT_EQ(admission.deadline(), kNow + 13s);
}

TEST(LostHosts, a_host_is_listed_once_per_lost_member) {
    LostHosts hosts;
    hosts.lost("node1");
    hosts.lost("node1");
    EXPECT_EQ(hosts.names().size(), 2U);
    hosts.joined("node1");
    EXPECT_TRUE(hosts.names().empty());
}

TEST(LostHosts, are_named_in_the_order_of_their_losses) {
    LostHosts hosts;
    EXPECT_FALSE(hosts.any());
    for (const char* host : {"node3", "node1", "node3", "node2"}) hosts.lost(host);
    EXPECT_EQ(hosts.names(), (std::vector<std::string>{"node3", "node1", "node3", "node2"}));
    EXPECT_EQ(hosts.latest(), "node2");
    hosts.joined("node3");
    hosts.joined("node4");
    EXPECT_EQ(hosts.names(), (std::vector<std::string>{"node1", "node2"}));
    hosts.round_begins();
    EXPECT_FALSE(hosts.any());
}

TEST(LostHosts, any_returns_while_a_lost_host_is_to_come_back) {
    LostHosts hosts;
    hosts.returns("node1", kNow + 10s);
    EXPECT_FALSE(hosts.any_returns()) << "it is not lost";
    hosts.lost("node1"), hosts.lost("node1"), hosts.lost("node2");
    hosts.returns("node1", kNow + 20s);
    EXPECT_TRUE(hosts.any_returns());
    hosts.joined("node2");
    EXPECT_TRUE(hosts.any_returns());
    hosts.joined("node1");
    EXPECT_FALSE(hosts.any_returns());
    hosts.lost("node2"), hosts.returns("node2", kNow + 10s);
    hosts.round_begins();
    EXPECT_FALSE(hosts.any_returns());
    hosts.lost("node2");
    EXPECT_TRUE(hosts.any_returns()) << "the new round lacks it, too";
}

TEST(LostHosts, a_returning_host_is_given_up_at_its_deadline) {
    LostHosts hosts;
    hosts.lost("node1");
    hosts.returns("node1", kNow + 10s);
    EXPECT_TRUE(hosts.any_returns());
    EXPECT_FALSE(hosts.give_up(kNow + 9s));
    EXPECT_TRUE(hosts.give_up(kNow + 10s));
    EXPECT_FALSE(hosts.any_returns());
}

TEST(RoundNumbers, no_number_is_used_twice) {
    RoundNumbers numbers;
    EXPECT_EQ(numbers.begin(), 0);
    EXPECT_EQ(numbers.begin(), 1);
    numbers.reported(7);
    EXPECT_EQ(numbers.begin(), 8);
    numbers.adopt(9, false);
    EXPECT_EQ(numbers.begin(), 11) << "a predecessor may have begun round 10";
    EXPECT_EQ(numbers.begin(), 12);
}

TEST(Adoption, is_open_until_its_time_and_the_coordinators_own_gap_does_not_count) {
    Adoption adoption;
    EXPECT_FALSE(adoption.is_open(kNow));
    EXPECT_FALSE(adoption.has_timed_out(kNow));
    adoption.excuse(5s);
    EXPECT_EQ(adoption.until(), kNever);
    adoption.begin(kNow + 5s);
    adoption.extend(kNow + 3s);
    EXPECT_TRUE(adoption.is_open(kNow + 4s));
    adoption.excuse(2s);
    EXPECT_TRUE(adoption.is_open(kNow + 6s));
    EXPECT_TRUE(adoption.has_timed_out(kNow + 7s));
    for (int again = 0; again < 2; ++again) adoption.accounted_for(3);
    EXPECT_EQ(adoption.count(), 1U);
    EXPECT_TRUE(adoption.misses(2));
    EXPECT_FALSE(adoption.misses(3));
    adoption.end();
    EXPECT_FALSE(adoption.is_open(kNow));
}

}  // namespace
}  // namespace dlaunch::rendezvous
