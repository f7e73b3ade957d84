#include "agent/process/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using Way = Requests::Way;

constexpr base::Time kStart{1h};

/// Signals that end a job, and the number of fresh ones among some signals.
struct Asked : Requests {
    Asked() : Requests({SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {}
    int news(const std::vector<int>& numbers, Way way, base::Time now) {
        sigset_t came;
        sigemptyset(&came);
        for (const int number : numbers) sigaddset(&came, number);
        const sigset_t found = fresh(came, way, now);
        int count = 0;
        for (const int number : numbers) count += sigismember(&found, number);
        return count;
    }
    bool is_new(int number, Way way, base::Time now) { return news({number}, way, now) == 1; }
};

TEST(Requests, a_signal_to_guard_and_agent_is_one_request_in_either_order) {
    for (const Way first : {Way::guard, Way::own}) {
        Asked asked;
        const Way second = first == Way::guard ? Way::own : Way::guard;
        EXPECT_TRUE(asked.is_new(SIGTERM, first, kStart));
        EXPECT_FALSE(asked.is_new(SIGTERM, second, kStart + 400ms));
    }
}

TEST(Requests, the_same_way_again_is_another_request) {
    for (const Way way : {Way::guard, Way::own}) {
        Asked asked;
        EXPECT_TRUE(asked.is_new(SIGINT, way, kStart));
        EXPECT_TRUE(asked.is_new(SIGINT, way, kStart + (way == Way::guard ? 150ms : 1200ms)));
    }
}

TEST(Requests, two_requests_to_both_are_two) {
    Asked asked;
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::own, kStart));
    EXPECT_FALSE(asked.is_new(SIGTERM, Way::guard, kStart + 1ms));
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::guard, kStart + 2s));
    EXPECT_FALSE(asked.is_new(SIGTERM, Way::own, kStart + 2s));
}

TEST(Requests, the_same_signal_soon_after_is_the_same_request_behind_a_sigcont) {
    for (const Way way : {Way::guard, Way::own}) {
        Asked asked;
        EXPECT_TRUE(asked.is_new(SIGTERM, way, kStart));
        EXPECT_TRUE(asked.is_new(SIGCONT, way, kStart + 3ms));
        EXPECT_FALSE(asked.is_new(SIGTERM, way, kStart + 7ms)) << "as SLURM sends it at a time limit";
        EXPECT_TRUE(asked.is_new(SIGUSR1, way, kStart + 8ms));
        EXPECT_TRUE(asked.is_new(SIGUSR1, way, kStart + 9ms)) << "no request to end";
    }
    Asked asked;
    EXPECT_TRUE(asked.is_new(SIGINT, Way::guard, kStart));
    EXPECT_TRUE(asked.is_new(SIGINT, Way::guard, kStart + 4ms)) << "the sender has seen an effect of the first";
}

TEST(Requests, two_signals_to_every_process_are_one_request_in_any_order) {
    for (const Way first : {Way::guard, Way::own}) {
        Asked asked;
        const Way second = first == Way::guard ? Way::own : Way::guard;
        EXPECT_TRUE(asked.is_new(SIGTERM, first, kStart));
        EXPECT_FALSE(asked.is_new(SIGTERM, second, kStart + 1ms));
        EXPECT_TRUE(asked.is_new(SIGCONT, first, kStart + 2ms));
        for (const Way way : {first, first, second, second})
            EXPECT_FALSE(asked.is_new(SIGTERM, way, kStart + 300ms)) << "from a front end, for example";
    }
}

TEST(Requests, a_much_later_signal_by_the_other_way_is_another_request) {
    Asked asked;
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::guard, kStart));
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::own, kStart + 1100ms));
}

TEST(Requests, a_second_signal_right_behind_the_first_to_every_process_is_the_same_request) {
    Asked asked;
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::own, kStart));
    EXPECT_FALSE(asked.is_new(SIGHUP, Way::own, kStart + 1ms)) << "as systemd sends them";
    EXPECT_FALSE(asked.is_new(SIGTERM, Way::guard, kStart + 2ms));
    EXPECT_FALSE(asked.is_new(SIGHUP, Way::guard, kStart + 2ms));
    EXPECT_TRUE(asked.is_new(SIGINT, Way::guard, kStart + 3ms)) << "a Ctrl-C at the terminal";
}

TEST(Requests, signals_that_arrive_together_are_reported_together) {
    Asked asked;
    EXPECT_EQ(asked.news({SIGTERM, SIGHUP, SIGCONT}, Way::own, kStart), 3);
    EXPECT_EQ(asked.news({SIGTERM, SIGHUP, SIGCONT}, Way::guard, kStart + 1ms), 0);
    EXPECT_EQ(asked.news({SIGTERM, SIGHUP}, Way::guard, kStart + 2s), 2);
}

TEST(Requests, a_signal_that_does_not_end_the_job_is_reported_once_and_hides_no_other) {
    Asked asked;
    EXPECT_TRUE(asked.is_new(SIGUSR1, Way::own, kStart));
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::own, kStart + 1ms));
    EXPECT_FALSE(asked.is_new(SIGUSR1, Way::guard, kStart + 2ms));
    EXPECT_TRUE(asked.is_new(SIGCONT, Way::own, kStart + 2ms));
}

TEST(Requests, a_request_to_the_agent_is_one_to_all) {
    Asked asked;
    EXPECT_TRUE(asked.is_new(SIGTERM, Way::guard, kStart));
    EXPECT_FALSE(asked.came_to_all(kStart));
    EXPECT_FALSE(asked.is_new(SIGTERM, Way::own, kStart + 1ms));
    EXPECT_TRUE(asked.came_to_all(kStart + 2ms));
    EXPECT_FALSE(asked.came_to_all(kStart + 5s));
}

}  // namespace
}  // namespace dlaunch::agent
