#include "worker_lib/src/core/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <vector>

namespace dlaunch::worker {
namespace {

std::shared_ptr<WorkState> start(Executor& executor, Executor::Job job) {
    auto state = std::make_shared<WorkState>();
    executor.start(state, std::move(job));
    return state;
}

/// Runs a job with a distant deadline.
template <class F>
void run(Executor& executor, F&& job) {
    executor.run(after(std::chrono::hours(1)), job, [] { return std::logic_error("late"); });
}

TEST(ExecutorTest, jobs_run_in_order_in_any_thread) {
    Executor executor;
    std::vector<int> order;
    start(executor, [&] { order.push_back(0); });
    start(executor, [&] { order.push_back(1); });
    run(executor, [&] { order.push_back(2); });
    start(executor, [&] { order.push_back(3); });
    run(executor, [&] { order.push_back(4); });
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST(ExecutorTest, a_blocking_job_runs_in_its_callers_thread) {
    Executor executor;
    std::thread::id there, here;
    start(executor, [&] { there = std::this_thread::get_id(); })->wait_until(Time::max());
    run(executor, [&] { here = std::this_thread::get_id(); });
    EXPECT_EQ(here, std::this_thread::get_id());
    EXPECT_NE(there, here);
}

TEST(ExecutorTest, a_jobs_exception_goes_to_its_state_and_the_next_job_runs) {
    Executor executor;
    const auto failed = start(executor, [] { throw std::runtime_error("no"); });
    const auto good = start(executor, [] {});
    EXPECT_TRUE(good->wait_until(Time::max()));
    EXPECT_NO_THROW(good->rethrow());
    EXPECT_THROW(failed->rethrow(), std::runtime_error);
    EXPECT_THROW(run(executor, [] { throw std::logic_error("no"); }), std::logic_error);
    bool ran = false;
    run(executor, [&] { ran = true; });
    EXPECT_TRUE(ran);
}

TEST(ExecutorTest, a_late_job_ends_the_earlier_ones_and_does_not_run) {
    Executor executor;
    std::promise<void> go;
    const auto slow = start(executor, [&] { go.get_future().wait(); });
    const auto job = [] { FAIL() << "it ran"; };
    const auto late = [&] {
        go.set_value();
        return std::runtime_error("late");
    };
    EXPECT_THROW(executor.run(after(std::chrono::milliseconds(1)), job, late), std::runtime_error);
    EXPECT_TRUE(slow->done());
    bool ran = false;
    run(executor, [&] { ran = true; });
    EXPECT_TRUE(ran);
}

TEST(ExecutorTest, the_next_job_runs_although_ending_the_earlier_ones_failed) {
    Executor executor;
    std::promise<void> go;
    const auto slow = start(executor, [&] { go.get_future().wait(); });
    const auto late = [&]() -> std::runtime_error {
        go.set_value();
        throw std::logic_error("no connection can be closed");
    };
    EXPECT_THROW(executor.run(
                     after(std::chrono::milliseconds(1)), [] {}, late),
                 std::logic_error);
    EXPECT_TRUE(start(executor, [] {})->wait_until(after(std::chrono::seconds(10))));
}

TEST(ExecutorTest, the_destructor_runs_pending_jobs) {
    std::atomic<int> done{0};
    std::promise<void> go;
    std::vector<std::shared_ptr<WorkState>> states;
    {
        Executor executor;
        states.push_back(start(executor, [&] { go.get_future().wait(); }));
        for (int i = 0; i < 5; ++i) states.push_back(start(executor, [&] { ++done; }));
        EXPECT_EQ(done, 0);
        go.set_value();
    }
    EXPECT_EQ(done, 5);
    for (const auto& state : states) EXPECT_TRUE(state->done());
}

TEST(ExecutorTest, threads_take_turns) {
    Executor executor;
    int inside = 0, most = 0, runs = 0;  // guarded by the executor itself
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i)
                run(executor, [&] {
                    most = std::max(most, ++inside);
                    ++runs;
                    --inside;
                });
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(runs, 800);
}

}  // namespace
}  // namespace dlaunch::worker
