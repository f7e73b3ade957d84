#include "agent/process/shared_signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr base::Time kNow{2h};

TEST(SharedSignals, dlaunchs_own_signal_is_due_at_once) {
    SharedSignals signals;
    signals.requested(SIGUSR1, kNow);
    EXPECT_EQ(signals.due(SIGTERM, kNow), kNow);
}

TEST(SharedSignals, a_requested_one_waits_for_its_sender) {
    SharedSignals signals;
    signals.requested(SIGTERM, kNow);
    EXPECT_EQ(signals.due(SIGTERM, kNow + 50ms), kNow + SharedSignals::kSenderMayTake);
    EXPECT_EQ(signals.due(SIGTERM, kNow + 1s), kNow + 1s) << "the sender has had its time";
}

TEST(SharedSignals, one_that_the_workers_have_is_not_due) {
    SharedSignals signals;
    signals.sent(SIGTERM, kNow);
    signals.requested(SIGTERM, kNow);
    EXPECT_FALSE(signals.due(SIGTERM, kNow));
}

TEST(SharedSignals, each_that_was_sent_answers_one_request) {
    SharedSignals signals;
    signals.sent(SIGUSR1, kNow);
    EXPECT_FALSE(signals.due(SIGUSR1, kNow));
    EXPECT_EQ(signals.due(SIGUSR1, kNow + 10ms), kNow + 10ms);
}

TEST(SharedSignals, a_sender_that_comes_too_late_answers_no_later_request) {
    SharedSignals signals;
    signals.requested(SIGUSR1, kNow);
    signals.sent_by_agent(SIGUSR1, kNow + 200ms);
    signals.sent(SIGUSR1, kNow + 250ms);
    EXPECT_EQ(signals.due(SIGUSR1, kNow + 600ms), kNow + 600ms);
}

TEST(SharedSignals, a_sender_s_next_signal_answers_the_next_request) {
    SharedSignals signals;
    signals.requested(SIGUSR1, kNow);
    signals.sent_by_agent(SIGUSR1, kNow + 200ms);
    signals.sent(SIGUSR1, kNow + 600ms);
    signals.requested(SIGUSR1, kNow + 600ms);
    EXPECT_FALSE(signals.due(SIGUSR1, kNow + 600ms));
}

TEST(SharedSignals, one_that_was_sent_long_ago_answers_none) {
    SharedSignals signals;
    signals.sent(SIGUSR1, kNow);
    EXPECT_EQ(signals.due(SIGUSR1, kNow + 2s), kNow + 2s);
}

}  // namespace
}  // namespace dlaunch::agent
