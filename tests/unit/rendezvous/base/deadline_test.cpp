#include "rendezvous/base/deadline.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace dlaunch::base {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

struct DeadlineTest : testing::Test {
    Loop loop;
    Deadline deadline{loop};
    std::string seen;

    std::function<void()> note(char c) {
        return [this, c] { seen += c; };
    }
    void run_until(milliseconds later) {
        const Timer end = loop.after(later, [this] { loop.stop(); });
        loop.run();
    }
};

TEST_F(DeadlineTest, RunsOnceAlsoWhenItIsLate) {
    deadline.set(Clock::now() - hours(1), note('a'));
    run_until(milliseconds(20));
    EXPECT_EQ(seen, "a");
}

TEST_F(DeadlineTest, TheLatestTimeCounts) {
    deadline.set(Clock::now(), note('a'));
    deadline.set(Clock::now() + hours(1), note('b'));
    deadline.set(Clock::now() + milliseconds(1), note('c'));
    run_until(milliseconds(20));
    EXPECT_EQ(seen, "c");
}

TEST_F(DeadlineTest, TheSameTimeAgainChangesNothing) {
    const Time due = Clock::now() + milliseconds(1);
    deadline.set(due, note('a'));
    deadline.set(due, note('b'));
    run_until(milliseconds(20));
    EXPECT_EQ(seen, "a");
}

TEST_F(DeadlineTest, NeverCancels) {
    deadline.set(Clock::now(), note('a'));
    deadline.set(Time::max(), note('b'));
    run_until(milliseconds(20));
    EXPECT_EQ(seen, "");
    deadline.set(Clock::now(), note('c'));
    deadline.cancel();
    run_until(milliseconds(20));
    EXPECT_EQ(seen, "");
}

TEST_F(DeadlineTest, ItsCallbackMaySetTheNext) {
    const Time due = Clock::now();
    deadline.set(due, [this, due] {
        seen += 'a';
        deadline.set(due, [this] { seen += 'b', loop.stop(); });
    });
    run_until(milliseconds(10'000));
    EXPECT_EQ(seen, "ab");
}

}  // namespace
}  // namespace dlaunch::base
