#include "launcher/start/discovered_hosts.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using Kind = DiscoveredHosts::Change::Kind;
using Changes = std::vector<DiscoveredHosts::Change>;

const base::Time t0{};
const HostEntry a{"a", "", 2}, b{"b"};

TEST(DiscoveredHosts, new_hosts_are_added_in_their_order) {
    DiscoveredHosts hosts;
    EXPECT_EQ(hosts.listed({b, a}, t0), (Changes{{Kind::add, 0, b}, {Kind::add, 1, a}}));
    EXPECT_EQ(hosts.listed({a, b}, t0 + 1s), Changes{});
}

TEST(DiscoveredHosts, a_host_that_is_not_listed_leaves_once_and_may_come_again) {
    DiscoveredHosts hosts;
    static_cast<void>(hosts.listed({a, b}, t0));
    EXPECT_EQ(hosts.listed({b}, t0 + 1s), (Changes{{Kind::leave, 0}}));
    hosts.ended(0, t0 + 2s);
    EXPECT_EQ(hosts.listed({b}, t0 + 3s), Changes{});
    EXPECT_EQ(hosts.listed({a, b}, t0 + 4s), (Changes{{Kind::again, 0}}));
}

TEST(DiscoveredHosts, a_failing_host_is_started_again_after_pauses_that_double) {
    DiscoveredHosts hosts;
    static_cast<void>(hosts.listed({a}, t0));
    hosts.ended(0, t0);
    EXPECT_EQ(hosts.listed({a}, t0 + 699ms), Changes{});
    EXPECT_EQ(hosts.listed({a}, t0 + 700ms), (Changes{{Kind::again, 0}}));
    hosts.ended(0, t0 + 1s);
    EXPECT_EQ(hosts.listed({a}, t0 + 2399ms), Changes{});
    EXPECT_EQ(hosts.listed({a}, t0 + 2400ms), (Changes{{Kind::again, 0}}));
}

TEST(DiscoveredHosts, pauses_have_an_upper_bound) {
    DiscoveredHosts hosts;
    static_cast<void>(hosts.listed({a}, t0));
    base::Time now = t0;
    for (int count = 0; count < 20; ++count) {
        hosts.ended(0, now);
        now += DiscoveredHosts::kMostPause;
        EXPECT_EQ(hosts.listed({a}, now), (Changes{{Kind::again, 0}}));
    }
}

}  // namespace
}  // namespace dlaunch::launcher
