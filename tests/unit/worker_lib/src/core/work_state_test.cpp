#include "worker_lib/src/core/work_state.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace dlaunch::worker {
namespace {

std::exception_ptr failed(const char* why) { return std::make_exception_ptr(std::runtime_error(why)); }

TEST(WorkStateTest, is_done_once_it_has_been_finished) {
    WorkState state;
    EXPECT_FALSE(state.done());
    EXPECT_FALSE(state.wait_until(Clock::now()));
    std::thread other([&] { state.finish({2, 7, 3}); });
    EXPECT_TRUE(state.wait_until(Time::max()));
    other.join();
    EXPECT_TRUE(state.done());
    EXPECT_EQ(state.received().source, 2);
    EXPECT_EQ(state.received().tag, 7);
    EXPECT_EQ(state.received().count, 3U);
    EXPECT_NO_THROW(state.rethrow());
}

TEST(WorkStateTest, rethrows_its_error_every_time) {
    WorkState state;
    state.finish(failed("no"));
    EXPECT_THROW(state.rethrow(), std::runtime_error);
    EXPECT_THROW(state.rethrow(), std::runtime_error);
}

TEST(WorkStateTest, the_last_handle_prints_an_error_that_was_never_thrown) {
    const auto state = std::make_shared<WorkState>();
    state->finish(failed("a peer is gone"));
    testing::internal::CaptureStderr();
    { const Work work(state); }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "dlaunch: a call failed whose Work was never waited for: a peer is gone\n");
}

TEST(WorkStateTest, the_last_handle_does_not_print_an_error_that_was_thrown) {
    const auto state = std::make_shared<WorkState>();
    state->finish(failed("a peer is gone"));
    testing::internal::CaptureStderr();
    {
        Work work(state);
        EXPECT_THROW(work.wait(), std::runtime_error);
        EXPECT_THROW((void)work.wait_for(std::chrono::seconds(1)), std::runtime_error);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WorkStateTest, the_last_handle_waits_for_the_call) {
    const auto state = std::make_shared<WorkState>();
    std::thread other;
    {
        Work work(state);
        const Work copy = work;
        { const Work gone = std::move(work); }
        EXPECT_FALSE(state->done()) << "there is a handle left";
        other = std::thread([&] { state->finish(); });
    }
    EXPECT_TRUE(state->done());
    other.join();
}

TEST(WorkStateTest, during_unwinding_the_call_is_aborted_silently) {
    WorkState state;
    testing::internal::CaptureStderr();
    struct Handle {
        WorkState& state;
        ~Handle() {
            state.abandon([this] { state.finish(failed("aborted")); });
        }
    };
    try {
        const Handle handle{state};
        throw std::logic_error("something else");
    } catch (const std::logic_error&) {}
    EXPECT_TRUE(state.done());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WorkStateTest, an_empty_work_is_done) {
    Work work;
    EXPECT_TRUE(work.done());
    EXPECT_TRUE(work.wait_for(std::chrono::nanoseconds::max()));
    EXPECT_EQ(work.received().source, -1);
}

}  // namespace
}  // namespace dlaunch::worker
