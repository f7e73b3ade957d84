#include "agent/errors/failure.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace dlaunch::agent {
namespace {

int status(HowEnded how, int code, int signal) {
    Failure failure;
    failure.how = how;
    failure.code = code;
    failure.signal = signal;
    return failure.exit_status();
}

TEST(ExitStatus, IsTheWorkersOwn) {
    for (int code = 1; code < 256; ++code) EXPECT_EQ(status(HowEnded::exited, code, 0), code);
}

TEST(ExitStatus, IsTheShellsForASignal) {
    for (int signal = 1; signal <= SIGRTMAX; ++signal) EXPECT_EQ(status(HowEnded::signalled, 0, signal), 128 + signal);
}

TEST(ExitStatus, OfWhatCouldNotBeExecuted) {
    EXPECT_EQ(status(HowEnded::not_executed, 127, 0), 127);
    EXPECT_EQ(status(HowEnded::not_executed, 126, 0), 126);
}

TEST(ExitStatus, OfAHangAndATimeOut) {
    EXPECT_EQ(status(HowEnded::hung, 0, SIGKILL), 84);
    EXPECT_EQ(status(HowEnded::timed_out, 0, SIGKILL), 84);
}

}  // namespace
}  // namespace dlaunch::agent
