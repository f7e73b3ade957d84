#include "launcher/start/start_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using Kind = StartUp::Action::Kind;
using Actions = std::vector<StartUp::Action>;

const base::Time t0{};

Actions starts(std::initializer_list<int> hosts) {
    Actions all;
    for (const int host : hosts) all.push_back({Kind::start, host});
    return all;
}

TEST(StartUp, a_fixed_job_begins_when_all_agents_are_there) {
    StartUp start({.hosts = 2, .least = 2, .most = 2});
    EXPECT_EQ(start.start(t0), starts({0, 1}));
    EXPECT_EQ(start.connected(1, t0 + 1s), Actions{});
    EXPECT_EQ(start.missing(), std::vector{0});
    EXPECT_EQ(start.connected(0, t0 + 2s), (Actions{{Kind::begin}}));
    EXPECT_TRUE(start.has_begun());
}

TEST(StartUp, a_host_has_failed_until_it_is_started_again) {
    StartUp start({.hosts = 2, .least = 1, .most = 2, .may_grow = true});
    static_cast<void>(start.start(t0));
    EXPECT_FALSE(start.has_failed(1));
    static_cast<void>(start.failed(1, "refused", t0));
    EXPECT_TRUE(start.has_failed(1));
    static_cast<void>(start.retry(1, t0 + 1s));
    EXPECT_FALSE(start.has_failed(1));
}

TEST(StartUp, a_failed_host_of_a_fixed_job_ends_the_start) {
    StartUp start({.hosts = 2, .least = 2, .most = 2});
    static_cast<void>(start.start(t0));
    EXPECT_EQ(start.connected(0, t0), Actions{});
    EXPECT_EQ(
        start.failed(1, "refused", t0 + 1s),
        (Actions{{Kind::name, 1, "refused"}, {Kind::fail, 1, "1 of 2 hosts cannot be started, the job needs 2"}}));
    EXPECT_EQ(start.next_deadline(), std::nullopt);
}

TEST(StartUp, hosts_that_fail_soon_after_the_first_are_named_too) {
    StartUp start({.hosts = 5, .least = 5, .most = 5, .at_once = 4});
    static_cast<void>(start.start(t0));
    EXPECT_EQ(start.failed(1, "refused", t0), (Actions{{Kind::name, 1, "refused"}}));
    EXPECT_EQ(start.next_deadline(), t0 + 500ms);
    EXPECT_EQ(start.failed(3, "unknown", t0 + 100ms), (Actions{{Kind::name, 3, "unknown"}}));
    EXPECT_EQ(start.connected(2, t0 + 200ms), Actions{});
    EXPECT_EQ(start.tick(t0 + 499ms), Actions{});
    EXPECT_EQ(start.tick(t0 + 500ms), (Actions{{Kind::fail, 1, "2 of 5 hosts cannot be started, the job needs 5"}}));
    EXPECT_EQ(start.connected(0, t0 + 2s), Actions{});
    EXPECT_EQ(start.next_deadline(), std::nullopt);
}

TEST(StartUp, a_spare_stands_in_for_a_failed_host) {
    StartUp start({.hosts = 3, .least = 2, .most = 2});
    static_cast<void>(start.start(t0));
    EXPECT_EQ(start.failed(0, "refused", t0), (Actions{{Kind::name, 0, "refused"}}));
    static_cast<void>(start.connected(1, t0));
    EXPECT_EQ(start.connected(2, t0), (Actions{{Kind::begin}}));
}

TEST(StartUp, a_surplus_agent_is_admitted_after_the_begin) {
    StartUp start({.hosts = 3, .least = 2, .most = 2});
    static_cast<void>(start.start(t0));
    static_cast<void>(start.connected(0, t0));
    EXPECT_EQ(start.connected(1, t0), (Actions{{Kind::begin}}));
    EXPECT_EQ(start.connected(2, t0), (Actions{{Kind::admit, 2}}));
}

TEST(StartUp, an_elastic_job_begins_after_its_last_call) {
    StartUp start({.hosts = 3, .least = 2, .most = 3, .last_call = 30s});
    static_cast<void>(start.start(t0));
    static_cast<void>(start.connected(0, t0));
    EXPECT_EQ(start.connected(1, t0 + 1s), Actions{});
    EXPECT_EQ(start.next_deadline(), t0 + 31s);
    EXPECT_EQ(start.tick(t0 + 30s), Actions{});
    EXPECT_EQ(start.tick(t0 + 31s), (Actions{{Kind::begin}}));
}

TEST(StartUp, an_elastic_job_waits_for_no_host_that_has_failed) {
    StartUp start({.hosts = 3, .least = 2, .most = 3});
    static_cast<void>(start.start(t0));
    static_cast<void>(start.connected(0, t0));
    static_cast<void>(start.connected(1, t0));
    EXPECT_EQ(start.failed(2, "refused", t0), (Actions{{Kind::name, 2, "refused"}, {Kind::begin}}));
}

TEST(StartUp, a_login_that_hangs_fails_at_the_launch_timeout) {
    StartUp start({.hosts = 1, .least = 1, .most = 1, .launch_timeout = 3s});
    static_cast<void>(start.start(t0));
    EXPECT_EQ(start.next_deadline(), t0 + 3s);
    const Actions actions = start.tick(t0 + 3s);
    ASSERT_EQ(actions.size(), 3U);
    EXPECT_EQ(actions[0], (StartUp::Action{Kind::give_up, 0}));
    EXPECT_EQ(actions[1], (StartUp::Action{Kind::name, 0, "no agent within 3 s (--launch-timeout)"}));
    EXPECT_EQ(actions[2].kind, Kind::fail);
}

TEST(StartUp, all_logins_that_hang_are_named_before_the_start_fails) {
    StartUp start({.hosts = 3, .least = 3, .most = 3, .launch_timeout = 3s});
    static_cast<void>(start.start(t0));
    const auto actions = start.tick(t0 + 3s);
    for (int host = 0; host < 3; ++host)
        EXPECT_TRUE(std::ranges::any_of(actions, [host](const StartUp::Action& action) {
            return action.kind == StartUp::Action::Kind::name && action.host == host;
        }));
    EXPECT_EQ(actions.back().kind, StartUp::Action::Kind::fail);
    EXPECT_EQ(actions.back().text, "3 of 3 hosts cannot be started, the job needs 3");
}

TEST(StartUp, no_more_logins_are_open_than_allowed) {
    StartUp start({.hosts = 4, .least = 4, .most = 4, .at_once = 2});
    EXPECT_EQ(start.start(t0), starts({0, 1}));
    EXPECT_EQ(start.connected(0, t0), starts({2}));
    EXPECT_EQ(start.connected(2, t0), starts({3}));
    EXPECT_EQ(start.connected(1, t0), Actions{});
}

TEST(StartUp, a_lost_agent_before_the_begin_is_a_failure_and_after_it_the_coordinators_affair) {
    StartUp start({.hosts = 2, .least = 1, .most = 2});
    static_cast<void>(start.start(t0));
    static_cast<void>(start.connected(0, t0));
    EXPECT_EQ(start.failed(0, "gone", t0), (Actions{{Kind::name, 0, "gone"}}));
    EXPECT_EQ(start.connected(1, t0), (Actions{{Kind::begin}}));
    EXPECT_EQ(start.failed(1, "gone", t0), Actions{});
}

TEST(StartUp, a_failed_host_can_be_started_again) {
    StartUp start({.hosts = 2, .least = 1, .most = 2});
    static_cast<void>(start.start(t0));
    static_cast<void>(start.connected(0, t0));
    static_cast<void>(start.failed(1, "refused", t0));
    EXPECT_EQ(start.retry(1, t0 + 5s), starts({1}));
    EXPECT_EQ(start.connected(1, t0 + 6s), (Actions{{Kind::admit, 1}}));
}

}  // namespace
}  // namespace dlaunch::launcher
