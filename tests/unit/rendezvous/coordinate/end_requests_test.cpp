#include "rendezvous/coordinate/end_requests.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;
using enum EndRequests::Sender;
using enum EndRequests::Effect;

const Time kBegin = Time{} + 1h;

TEST(EndRequests, a_second_one_of_the_guard_ends_the_job_at_once) {
    EndRequests requests;
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin), end);
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin + 300ms), end_at_once);
}

TEST(EndRequests, one_to_every_process_comes_by_the_guard_too) {
    EndRequests requests;
    EXPECT_EQ(requests.heard(SIGTERM, other, kBegin), end);
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin + 20ms), none);
}

TEST(EndRequests, the_same_one_to_every_process_again_within_a_second_is_none) {
    EndRequests requests;
    EXPECT_EQ(requests.heard(SIGTERM, other, kBegin), end);
    EXPECT_EQ(requests.heard(SIGTERM, other, kBegin + 700ms), none);
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin + 710ms), none) << "its copy";
    EXPECT_EQ(requests.heard(SIGTERM, other, kBegin + 1100ms), end_at_once);
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin + 1110ms), none) << "its copy";
}

TEST(EndRequests, another_one_to_every_process_ends_the_job_at_once) {
    EndRequests requests;
    EXPECT_EQ(requests.heard(SIGTERM, other, kBegin), end);
    EXPECT_EQ(requests.heard(SIGINT, other, kBegin + 300ms), end_at_once);
}

TEST(EndRequests, one_behind_sigcont_is_that_of_a_time_limit) {
    EndRequests requests;
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin), end);
    requests.continued(kBegin + 200ms);
    EXPECT_EQ(requests.heard(SIGTERM, guard, kBegin + 300ms), none);
}

}  // namespace
}  // namespace dlaunch::rendezvous
