#include "rendezvous/base/aside.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace dlaunch::base {
namespace {

TEST(Aside, works_in_another_thread_and_returns_to_the_loop) {
    Loop loop;
    std::thread::id worked, told;
    const Aside aside(loop, [&]() -> std::function<void()> {
        worked = std::this_thread::get_id();
        return [&] {
            told = std::this_thread::get_id();
            loop.stop();
        };
    });
    loop.run();
    EXPECT_NE(worked, std::thread::id());
    EXPECT_NE(worked, told);
    EXPECT_EQ(told, std::this_thread::get_id());
}

TEST(Aside, neither_the_loop_nor_its_end_waits_for_work_that_hangs) {
    Loop loop;
    auto gate = std::make_shared<std::promise<void>>();
    auto left = std::make_shared<std::promise<void>>();
    bool told = false;
    {
        const Aside hanging(loop, [&told, gate, left]() -> std::function<void()> {
            gate->get_future().wait();
            return
                [&told, left = std::shared_ptr<void>(nullptr, [left](void*) { left->set_value(); })] { told = true; };
        });
        loop.post([&loop] { loop.stop(); });
        loop.run();
    }
    gate->set_value();
    left->get_future().wait();  // the thread has dropped its result
    EXPECT_FALSE(told);
}

TEST(Aside, may_be_replaced_by_the_call_that_it_makes) {
    Loop loop;
    Aside aside;
    EXPECT_FALSE(aside.busy());
    int rounds = 0;
    std::function<void()> again = [&] {
        if (++rounds == 3) return loop.stop();
        aside = Aside(loop, [&]() -> std::function<void()> { return [&] { again(); }; });
    };
    again();
    loop.run();
    EXPECT_EQ(rounds, 3);
}

}  // namespace
}  // namespace dlaunch::base
