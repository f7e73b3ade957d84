/// Functions and coroutines that continue when calls have ended: Work::then(), co_await.

#include <coroutine>
#include <future>
#include <thread>
#include <utility>

#include "tests/conformance/fake_gpu.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using namespace std::chrono_literals;

using ThenTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, ThenTest, testing::ValuesIn(cases({1, 2, 3}, true)), name_of);

/// A coroutine that starts at once; get() waits for its end.
class Task {
public:
    struct promise_type {  // NOLINT(readability-identifier-naming): the language's
        /// Ends get() when the coroutine is suspended for the last time, in any thread, and may be destroyed.
        struct Last {
            bool await_ready() noexcept { return false; }
            void await_suspend(std::coroutine_handle<promise_type> frame) noexcept {
                std::promise<void> promise = std::move(frame.promise().ended);
                promise.set_value();
            }
            void await_resume() noexcept {}
        };
        std::promise<void> ended;
        std::exception_ptr error;
        Task get_return_object() { return Task(*this); }
        std::suspend_never initial_suspend() { return {}; }
        Last final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { error = std::current_exception(); }
    };
    explicit Task(promise_type& promise)
        : ended_(promise.ended.get_future()), frame_(std::coroutine_handle<promise_type>::from_promise(promise)) {}
    Task(Task&& other) noexcept : ended_(std::move(other.ended_)), frame_(std::exchange(other.frame_, nullptr)) {}
    Task& operator=(Task&&) = delete;
    ~Task() {
        if (frame_) frame_.destroy();
    }
    void get() {
        ended_.get();
        if (frame_.promise().error) std::rethrow_exception(frame_.promise().error);
    }

private:
    std::future<void> ended_;
    std::coroutine_handle<promise_type> frame_;
};

TEST_P(ThenTest, a_chain_of_two) {
    run([](const ProcessGroup& world) {
        for (int times = 0; times < 20; ++times) {
            std::vector<float> x(1000, 1);
            std::vector<std::string> order;
            Work last = world.all_reduce_async(x)
                            .then([&] {
                                order.emplace_back("first");
                                for (float& element : x) element *= 10;
                            })
                            .then([&, moved = std::make_unique<int>(7)](Work ended) {
                                ended.wait();
                                order.emplace_back(*moved == 7 ? "second" : "moved");
                            });
            last.wait();
            check(order == std::vector<std::string>{"first", "second"}, "the order");
            check(x.back() == 10.0F * static_cast<float>(world.size()), "the result");
            check(last.done() && last.wait_for(0s), "it has ended");
        }
    });
}

TEST_P(ThenTest, a_call_that_has_ended_and_none) {
    run([](const ProcessGroup& world) {
        int x = 1, times = 0;
        Work work = world.all_reduce_async(x);
        work.wait();
        std::thread::id threads[2];
        work.then([&] { threads[0] = std::this_thread::get_id(); }).wait();
        Work().then([&] { threads[1] = std::this_thread::get_id(), ++times; }).wait();
        check(threads[0] == threads[1] && threads[0] != std::this_thread::get_id(), "one thread of the library");
        check(times == 1, "once");
    });
}

TEST_P(ThenTest, errors_travel) {
    if (GetParam().backend == "nccl") return;  // it sends no host memory
    run([](const ProcessGroup& world) {
        int never = 0;
        bool ran = false, told = false;
        Work late = world.irecv(never, world.rank(), {.timeout = 5ms});
        Work skipped = late.then([&] { ran = true; }).then([&] { ran = true; });
        Work informed = late.then([&](Work ended) {
            expect_error(ErrorCode::timeout, [&] { ended.wait(); });
            told = true;
        });
        expect_error(ErrorCode::timeout, [&] { skipped.wait(); });
        informed.wait();
        check(told && !ran, "what ran");
        expect_error(ErrorCode::timeout, [&] { late.wait(); });
        Work thrown = informed.then([] { throw std::domain_error("its own"); });
        try {
            thrown.wait();
            check(false, "an exception of the function");
        } catch (const std::domain_error&) {}
        Work works[] = {thrown, Work()};
        try {
            wait_all(works);
            check(false, "the same of several");
        } catch (const std::domain_error&) {}
        check(wait_any(std::span(works).last(1)) == std::nullopt, "none");
        world.barrier();
    });
}

TEST_P(ThenTest, functions_make_calls) {
    run([](const ProcessGroup& world) {
        int x = 1, y = 1;
        world.all_reduce_async(x)
            .then([&] {
                y = x;
                world.all_reduce(y);
            })
            .wait();
        check(y == world.size() * world.size(), "a call in the function");
        // It would wait for itself.
        Work refused = world.barrier_async().then([&] {
            Work later = Work().then([] {});
            expect_error(ErrorCode::invalid_argument, [&] { later.wait(); });
            return;
        });
        refused.wait();
    });
}

TEST_P(ThenTest, the_last_handle_waits) {
    run([](const ProcessGroup& world) {
        bool ran = false;
        {
            std::vector<int> x(100000, 1);
            (void)world.all_reduce_async(x).then([&] {
                ran = true;
                check(x.back() == world.size(), "the sum");
            });
            check(ran, "the handle waited");
        }
        // The function's captures are destroyed before wait() returns.
        const auto owned = std::make_shared<int>(3);
        Work work = world.barrier_async().then([owned] {});
        work.wait();
        check(owned.use_count() == 1, "who owns it");
    });
}

Task awaits_three(const ProcessGroup& world, int& sum) {
    int x = 1;
    std::vector<float> y(50000, 1);
    Work first = world.all_reduce_async(x), second = world.all_reduce_async(y);
    co_await first;
    co_await second;
    co_await world.barrier_async();
    sum = x + static_cast<int>(y.back());
}

TEST_P(ThenTest, a_coroutine_awaits_three) {
    run([](const ProcessGroup& world) {
        for (int times = 0; times < 20; ++times) {
            int sum = 0;
            Task task = awaits_three(world, sum);
            task.get();
            check(sum == 2 * world.size(), "the sums");
        }
    });
}

Task receives(const ProcessGroup& world, Received& received, int& value) {
    received = co_await world.irecv(value);
    co_await world.irecv(value, world.rank(), {.timeout = 5ms});
}

TEST_P(ThenTest, a_coroutine_gets_results_and_errors) {
    if (GetParam().backend == "nccl") return;
    run([](const ProcessGroup& world) {
        Received received;
        int value = 0;
        Task task = receives(world, received, value);
        const int number = 40 + world.rank(), to = (world.rank() + 1) % world.size();
        world.send(number, to, {.tag = 6});
        expect_error(ErrorCode::timeout, [&] { task.get(); });
        const int from = (world.rank() + world.size() - 1) % world.size();
        check(received.source == from && received.tag == 6 && value == 40 + from, "the message");
        world.barrier();
    });
}

Task waits_in_vain(const ProcessGroup& world, bool& resumed) {
    int never = 0;
    try {
        co_await world.irecv(never, world.rank(), {.timeout = 300ms});
    } catch (const Error&) {}
    resumed = true;
}

TEST_P(ThenTest, a_coroutine_that_is_destroyed_is_not_resumed) {
    if (GetParam().backend == "nccl") return;
    run([](const ProcessGroup& world) {
        bool resumed = false;
        { Task task = waits_in_vain(world, resumed); }  // waits for the end of the call, as its buffer is gone next
        Work().then([] {}).wait();                      // what had ended before has been run
        check(!resumed, "it was destroyed");
        world.barrier();
    });
}

TEST_P(ThenTest, an_abort_ends_what_waits) {
    if (GetParam().ranks < 2 || GetParam().backend == "nccl") return;
    run([](const ProcessGroup& world) {
        int never = 0;
        Work work = world.irecv(never, world.rank()).then([] {});
        await_all(world);
        ProcessGroup(world).abort();
        expect_ended(ErrorCode::aborted, [&] { work.wait(); });
        await_all(world);
    });
}

#ifndef __SANITIZE_THREAD__  // which starts no threads in forks of processes with several
TEST_P(ThenTest, a_forked_child_has_functions_of_its_own) {
    run([](const ProcessGroup& world) {
        int x = 1;
        Work work = world.all_reduce_async(x).then([] {});
        work.wait();
        spawn(
            [&](int) {
                expect_error(ErrorCode::invalid_argument, [&] { work.wait(); });
                expect_error(ErrorCode::invalid_argument, [&] { (void)work.then([] {}); });
                bool ran = false;
                Work().then([&] { ran = true; }).wait();
                check(ran, "in the child");
            },
            1);
        world.barrier();
    });
}
#endif

TEST(ThenOnGpusTest, functions_run_when_the_gpu_is_done) {
    run_world(2, {.backend = "nccl"}, [](const ProcessGroup& world) {
        OneFloat one;
        float seen = 0;
        Work work = world.all_reduce_async(one.buffer.span());
        work.then([&] { seen = one.value(); }).wait();
        check(seen == 2, "the result");
        work.wait();
    });
}

}  // namespace
}  // namespace dlaunch::conformance
