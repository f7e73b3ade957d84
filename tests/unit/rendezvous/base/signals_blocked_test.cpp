#include "rendezvous/base/signals_blocked.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace dlaunch::base {
namespace {

bool is_blocked(int signal) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, signal) == 1;
}

TEST(SignalsBlocked, a_thread_inherits_the_mask_and_the_destructor_restores_it) {
    bool in_thread = false;
    std::thread thread;
    {
        const SignalsBlocked now;
        thread = std::thread([&] { in_thread = is_blocked(SIGTERM); });
        EXPECT_TRUE(is_blocked(SIGTERM));
    }
    thread.join();
    EXPECT_TRUE(in_thread);
    EXPECT_FALSE(is_blocked(SIGTERM));
}

}  // namespace
}  // namespace dlaunch::base
