#include "rendezvous/base/background.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <future>
#include <thread>

namespace dlaunch::base {
namespace {

TEST(Background, works_in_another_thread_and_returns_to_the_loop) {
    Loop loop;
    std::thread::id worked, returned;
    const Background background(loop, [&]() -> std::function<void()> {
        worked = std::this_thread::get_id();
        return [&] {
            returned = std::this_thread::get_id();
            loop.stop();
        };
    });
    loop.run();
    EXPECT_NE(worked, std::thread::id());
    EXPECT_NE(worked, returned);
    EXPECT_EQ(returned, std::this_thread::get_id());
}

TEST(Background, neither_the_loop_nor_its_end_waits_for_work_that_hangs) {
    Loop loop;
    auto gate = std::make_shared<std::promise<void>>();
    auto left = std::make_shared<std::promise<void>>();
    bool has_run = false;
    {
        const Background hanging(loop, [&has_run, gate, left]() -> std::function<void()> {
            gate->get_future().wait();
            return [&has_run, left = std::shared_ptr<void>(nullptr, [left](void*) { left->set_value(); })] {
                has_run = true;
            };
        });
        loop.post([&loop] { loop.stop(); });
        loop.run();
        EXPECT_TRUE(Background::any_thread());
    }
    gate->set_value();
    left->get_future().wait();  // the thread has dropped its result
    EXPECT_FALSE(has_run);
}

TEST(Background, may_be_replaced_by_the_call_that_it_makes) {
    Loop loop;
    Background background;
    EXPECT_FALSE(background.busy());
    int rounds = 0;
    std::function<void()> again = [&] {
        if (++rounds == 3) return loop.stop();
        background = Background(loop, [&]() -> std::function<void()> { return [&] { again(); }; });
    };
    again();
    loop.run();
    EXPECT_EQ(rounds, 3);
}

/// Limits this process's descriptors to those that it has.
class NoDescriptors {
public:
    NoDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        none.rlim_cur = 3;
        setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

private:
    rlimit before_{};
};

TEST(Background, needs_no_descriptor) {
    Loop loop;
    const NoDescriptors during_the_test;
    std::thread::id worked;
    const Background background(loop, [&]() -> std::function<void()> {
        worked = std::this_thread::get_id();
        return [&] { loop.stop(); };
    });
    loop.run();
    EXPECT_NE(worked, std::this_thread::get_id());
}

TEST(Background, without_a_result_there_is_nothing_to_call) {
    Loop loop;
    const NoDescriptors during_the_test;
    const Background background(loop, [&]() -> std::function<void()> {
        loop.post([&] { loop.post([&] { loop.stop(); }); });  // after the result
        return nullptr;
    });
    loop.run();
}

TEST(Background, waits_for_a_thread_and_does_not_hold_up_the_loop) {
    Loop loop;
    pthread_attr_t before, endless;
    ASSERT_EQ(pthread_getattr_default_np(&before), 0);
    ASSERT_EQ(pthread_getattr_default_np(&endless), 0);
    pthread_attr_setstacksize(&endless, std::size_t{1} << 46);  // no thread gets a stack
    ASSERT_EQ(pthread_setattr_default_np(&endless), 0);
    std::thread::id worked;
    const Background background(loop, [&]() -> std::function<void()> {
        worked = std::this_thread::get_id();
        return [&] { loop.stop(); };
    });
    EXPECT_EQ(worked, std::thread::id());
    loop.post([&] { pthread_setattr_default_np(&before); });
    loop.run();
    EXPECT_NE(worked, std::this_thread::get_id());
    pthread_attr_destroy(&endless);
    pthread_attr_destroy(&before);
}

}  // namespace
}  // namespace dlaunch::base
