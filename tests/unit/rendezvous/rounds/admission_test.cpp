/// Nodes that wait for a place, hosts that the next round lacks, and numbers of rounds.

#include "rendezvous/rounds/admission.hpp"

#include <gtest/gtest.h>

#include "rendezvous/rounds/adoption.hpp"
#include "rendezvous/rounds/lost_hosts.hpp"
#include "rendezvous/rounds/round_numbers.hpp"

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{1h};

TEST(Admission, nodes_cool_down_until_their_time) {
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

TEST(Admission, each_newcomer_lets_all_wait_again) {
    Admission admission;
    EXPECT_FALSE(admission.is_due(kNow));
    admission.wait_until(kNow + 3s);
    admission.wait_until(kNow + 5s);
    EXPECT_FALSE(admission.is_due(kNow + 4s));
    EXPECT_TRUE(admission.is_due(kNow + 5s));
    admission.taken_in();
    EXPECT_EQ(admission.deadline(), kNever);
}

TEST(LostHosts, a_host_lacks_as_often_as_it_has_lost_members) {
    LostHosts hosts;
    hosts.lost("node1");
    hosts.lost("node1");
    EXPECT_EQ(hosts.names().size(), 2U);
    hosts.joined("node1");
    EXPECT_TRUE(hosts.names().empty());
}

TEST(LostHosts, a_host_that_is_to_come_back_is_given_up_in_time) {
    LostHosts hosts;
    hosts.lost("node1");
    hosts.returns("node1", kNow + 10s);
    EXPECT_TRUE(hosts.any_returns());
    EXPECT_FALSE(hosts.give_up(kNow + 9s));
    EXPECT_TRUE(hosts.give_up(kNow + 10s));
    EXPECT_FALSE(hosts.any_returns());
}

TEST(RoundNumbers, none_is_used_twice) {
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
    adoption.came();
    EXPECT_EQ(adoption.count(), 1U);
    adoption.end();
    EXPECT_FALSE(adoption.is_open(kNow));
}

}  // namespace
}  // namespace dlaunch::rendezvous
