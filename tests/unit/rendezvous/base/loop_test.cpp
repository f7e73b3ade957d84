#include "rendezvous/base/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

namespace dlaunch::base {
namespace {

using namespace std::chrono_literals;

/// Keeps a callback busy until so much time has passed.
void spend(Duration time) {
    for (const Time end = Clock::now() + time; Clock::now() < end;) {}
}

TEST(LoopLag, a_long_turn_is_reported_and_a_short_one_is_not) {
    Loop loop;
    std::vector<Duration> lags;
    loop.on_lag(5ms, [&](Duration took) { lags.push_back(took); });
    loop.post([] { spend(6ms); });
    loop.post([&] { loop.stop(); });
    loop.run();
    ASSERT_EQ(lags.size(), 1u);
    EXPECT_GE(lags[0], 6ms);
}

TEST(LoopLag, a_timer_that_comes_late_is_reported) {
    Loop loop;
    std::vector<Duration> lags;
    loop.on_lag(50ms, [&](Duration took) { lags.push_back(took); });
    const Timer timer = loop.after(0ms, [&] { loop.stop(); });
    spend(60ms);  // as a process that does not get the processor
    loop.run();
    ASSERT_EQ(lags.size(), 1u);
    EXPECT_GE(lags[0], 50ms);
}

TEST(LoopTurn, another_thread_sees_how_long_a_turn_takes) {
    Loop loop;
    loop.measure_turns();
    EXPECT_EQ(loop.in_turn_for(), 0ms);
    std::binary_semaphore inside{0}, seen{0};
    loop.post([&] {
        inside.release();
        seen.acquire();
        loop.stop();
    });
    std::thread runs([&] { loop.run(); });
    inside.acquire();
    while (loop.in_turn_for() < 1ms) std::this_thread::yield();
    seen.release();
    runs.join();
    EXPECT_EQ(loop.in_turn_for(), 0ms);
}

TEST(LoopPost, callbacks_come_from_other_threads_in_their_order) {
    constexpr int kCount = 10'000;
    Loop loop;
    std::vector<int> received;
    std::thread sender([&] {
        for (int i = 0; i < kCount; ++i) loop.post([&received, i] { received.push_back(i); });
        loop.post([&] { loop.stop(); });
    });
    loop.run();
    sender.join();
    ASSERT_EQ(received.size(), static_cast<std::size_t>(kCount));
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(received[static_cast<std::size_t>(i)], i);
}

TEST(LoopRun, may_be_repeated_and_a_stop_before_it_counts) {
    Loop loop;
    int turns = 0;
    for (int run = 0; run < 3; ++run) {
        loop.post([&] {
            ++turns;
            loop.stop();
        });
        loop.run();
    }
    EXPECT_EQ(turns, 3);
    loop.stop();
    loop.run();
}

}  // namespace
}  // namespace dlaunch::base
